// memfs.js - an in-memory file system for the WASI calls of the C library. One folder, no links, no permissions: input
// files are written here before a call, and output files are read from here after it.

const ERRNO = { badf: 8, exist: 20, inval: 28, isdir: 31, noent: 44, nosys: 52 };
const CREATE = 1, EXCLUSIVE = 4, TRUNCATE = 8; // oflags of path_open
const ROOT = 3; // descriptor of the folder, after stdin, stdout and stderr
const KIND = { directory: 3, file: 4 };

export class MemoryFiles {
  constructor() {
    this.files = new Map(); // name -> { bytes: Uint8Array, size }
    this.open = new Map(); // descriptor -> { file, at }
    this.next = ROOT + 1;
    this.memory = null; // WebAssembly.Memory, set after instantiation
  }

  write(name, bytes) {
    this.files.set(normalizePath(name), { bytes, size: bytes.length });
  }

  read(name) {
    const file = this.files.get(normalizePath(name));
    return file && file.bytes.slice(0, file.size);
  }

  remove(name) {
    this.files.delete(normalizePath(name));
  }

  // The import object `wasi_snapshot_preview1`.
  imports() {
    const view = () => new DataView(this.memory.buffer);
    const name = (pointer, length) =>
      normalizePath(new TextDecoder().decode(new Uint8Array(this.memory.buffer, pointer, length)));
    return {
      clock_time_get: (_clock, _precision, out) => {
        view().setBigUint64(out, BigInt(Math.round(performance.now() * 1e6)), true);
        return 0;
      },
      fd_prestat_get: (fd, out) => {
        if (fd !== ROOT) return ERRNO.badf;
        view().setUint32(out, 0, true);
        view().setUint32(out + 4, 1, true);
        return 0;
      },
      fd_prestat_dir_name: (fd, out) => {
        if (fd !== ROOT) return ERRNO.badf;
        view().setUint8(out, 47); // "/"
        return 0;
      },
      fd_fdstat_get: (fd, out) => {
        if (fd !== ROOT && !this.open.has(fd)) return ERRNO.badf;
        const v = view();
        for (let i = 0; i < 24; i += 4) v.setUint32(out + i, 0, true);
        v.setUint8(out, fd === ROOT ? KIND.directory : KIND.file);
        v.setBigUint64(out + 8, ~0n, true); // all rights
        v.setBigUint64(out + 16, ~0n, true);
        return 0;
      },
      fd_fdstat_set_flags: () => 0,
      path_open: (_fd, _lookup, pointer, length, flags, _rights, _inherit, _fdflags, out) => {
        const path = name(pointer, length);
        let file = this.files.get(path);
        if (file && flags & CREATE && flags & EXCLUSIVE) return ERRNO.exist;
        if (!file && !(flags & CREATE)) return ERRNO.noent;
        if (!file) this.files.set(path, (file = { bytes: new Uint8Array(4096), size: 0 }));
        if (flags & TRUNCATE) file.size = 0;
        this.open.set(this.next, { file, at: 0 });
        view().setUint32(out, this.next++, true);
        return 0;
      },
      path_filestat_get: (_fd, _lookup, pointer, length, out) => {
        const path = name(pointer, length), file = this.files.get(path);
        if (!file && path !== '') return ERRNO.noent;
        const v = view();
        for (let i = 0; i < 64; i += 4) v.setUint32(out + i, 0, true);
        v.setUint8(out + 16, file ? KIND.file : KIND.directory);
        v.setBigUint64(out + 32, BigInt(file ? file.size : 0), true);
        return 0;
      },
      path_rename: (_from, pointer, length, _to, newPointer, newLength) => {
        const path = name(pointer, length), file = this.files.get(path);
        if (!file) return ERRNO.noent;
        this.files.delete(path);
        this.files.set(name(newPointer, newLength), file);
        return 0;
      },
      path_unlink_file: (_fd, pointer, length) => (this.files.delete(name(pointer, length)) ? 0 : ERRNO.noent),
      path_remove_directory: () => ERRNO.inval,
      path_link: () => ERRNO.nosys,
      fd_read: (fd, vectors, count, out) => this.#transfer(fd, vectors, count, out, false),
      fd_write: (fd, vectors, count, out) => this.#transfer(fd, vectors, count, out, true),
      fd_seek: (fd, offset, whence, out) => {
        const open = this.open.get(fd);
        if (!open) return ERRNO.badf;
        const from = whence === 0 ? 0 : whence === 1 ? open.at : open.file.size;
        if (from + Number(offset) < 0) return ERRNO.inval;
        open.at = from + Number(offset);
        view().setBigUint64(out, BigInt(open.at), true);
        return 0;
      },
      fd_close: (fd) => (this.open.delete(fd) ? 0 : ERRNO.badf),
      proc_exit: (code) => {
        throw new Error(`the library exited with code ${code}`);
      },
    };
  }

  // Vectored read or write; discards standard output and error.
  #transfer(fd, vectors, count, out, writing) {
    const view = new DataView(this.memory.buffer), open = this.open.get(fd);
    if (!open && !(writing && fd < ROOT)) return ERRNO.badf;
    let total = 0;
    for (let i = 0; i < count; i++) {
      const pointer = view.getUint32(vectors + 8 * i, true);
      let size = view.getUint32(vectors + 8 * i + 4, true);
      if (open && writing) {
        grow(open.file, open.at + size).set(new Uint8Array(this.memory.buffer, pointer, size), open.at);
        open.file.size = Math.max(open.file.size, open.at + size);
      } else if (open) {
        size = Math.max(0, Math.min(size, open.file.size - open.at));
        new Uint8Array(this.memory.buffer, pointer, size).set(open.file.bytes.subarray(open.at, open.at + size));
      }
      if (open) open.at += size;
      total += size;
    }
    view.setUint32(out, total, true);
    return 0;
  }
}

// "./a.glb", "/a.glb" and "a.glb" are the same file.
function normalizePath(name) {
  return name.replace(/^[./]+/, '');
}

function grow(file, size) {
  if (size > file.bytes.length) {
    const bytes = new Uint8Array(Math.max(size, 2 * file.bytes.length));
    bytes.set(file.bytes.subarray(0, file.size));
    file.bytes = bytes;
  }
  return file.bytes;
}
