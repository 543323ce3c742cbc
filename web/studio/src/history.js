// history.js - undo and redo by snapshots: `capture` returns the current state, `restore` applies one. Snapshots are
// immutable.
const MAX_STATES = 100;

export class History {
  constructor(capture, restore) {
    Object.assign(this, { capture, restore, past: [], future: [] });
  }

  // Call before a change.
  mark() {
    this.past.push(this.capture());
    if (this.past.length > MAX_STATES) this.past.shift();
    this.future = [];
  }

  async undo() {
    await this.#step(this.past, this.future);
  }

  async redo() {
    await this.#step(this.future, this.past);
  }

  clear() {
    this.past = [];
    this.future = [];
  }

  async #step(from, to) {
    if (from.length === 0) return;
    to.push(this.capture());
    await this.restore(from.pop());
  }
}
