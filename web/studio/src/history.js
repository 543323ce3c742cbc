// history.js - undo and redo by whole states: `take` gives the state as it is, `give` goes back to one. States are never
// changed after they were taken.
const MOST = 100;

export class History {
  constructor(take, give) {
    Object.assign(this, { take, give, past: [], future: [] });
  }

  // Before something changes.
  mark() {
    this.past.push(this.take());
    if (this.past.length > MOST) this.past.shift();
    this.future = [];
  }

  async undo() {
    await this.#go(this.past, this.future);
  }

  async redo() {
    await this.#go(this.future, this.past);
  }

  clear() {
    this.past = [];
    this.future = [];
  }

  async #go(from, to) {
    if (from.length === 0) return;
    to.push(this.take());
    await this.give(from.pop());
  }
}
