// save.js - downloads: files, images, videos. Nothing is uploaded.

export function saveBytes(bytes, name, type = 'application/octet-stream') {
  const link = Object.assign(
    document.createElement('a'), { href: URL.createObjectURL(new Blob([bytes], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

export function saveImage(canvas, name) {
  canvas.toBlob((blob) => saveBytes(blob, name, 'image/png'), 'image/png');
}

// Records the canvas for some seconds as WebM.
export async function saveVideo(canvas, name, seconds) {
  const recorder = new MediaRecorder(canvas.captureStream(30), { mimeType: 'video/webm' }), pieces = [];
  recorder.ondataavailable = ({ data }) => pieces.push(data);
  const ended = new Promise((resolve) => (recorder.onstop = resolve));
  recorder.start();
  await new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
  recorder.stop();
  await ended;
  saveBytes(new Blob(pieces, { type: 'video/webm' }), name, 'video/webm');
}
