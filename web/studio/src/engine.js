// engine.js - promise-based calls to a worker.

export class Engine {
  constructor(onProgress) {
    this.worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
    this.waiting = new Map();
    this.next = 1;
    this.worker.onmessage = ({ data }) => {
      if (data.id === undefined) return onProgress?.(data.progress, data.stage);
      const { resolve, reject } = this.waiting.get(data.id);
      this.waiting.delete(data.id);
      if (data.error === undefined) resolve(data);
      else reject(new Error(data.where ? `${data.where}: ${data.error}` : data.error));
    };
    this.worker.onerror = (event) => {
      for (const { reject } of this.waiting.values()) reject(new Error(event.message || 'The worker failed.'));
      this.waiting.clear();
    };
  }

  call(name, message = {}) {
    return new Promise((resolve, reject) => {
      this.waiting.set(this.next, { resolve, reject });
      this.worker.postMessage({ ...message, call: name, id: this.next++ });
    });
  }

  // Terminates the worker, even during a bind.
  stop() {
    this.worker.terminate();
    for (const { reject } of this.waiting.values()) reject(new Error('stopped'));
    this.waiting.clear();
  }
}
