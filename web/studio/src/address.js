// address.js - the state in the address, so that a link to a built-in character shows the same thing.

export function writeAddress(state) {
  if (!state.scene) return history.replaceState(null, '', location.pathname);
  const words = new URLSearchParams({ character: state.scene, clip: state.clip, time: state.time.toFixed(3), play: state.playing ? 1 : 0 });
  if (state.resolution !== 1) words.set('resolution', state.resolution);
  for (const { method, settings } of state.views)
    words.append('view', [method, ...Object.entries(settings).map(([name, value]) => `${name}=${value}`)].join(';'));
  history.replaceState(null, '', `#${words}`);
}

export function readAddress() {
  const words = new URLSearchParams(location.hash.slice(1));
  const views = words.getAll('view').map((text) => {
    const [method, ...pairs] = text.split(';');
    return { method, settings: Object.fromEntries(pairs.map((pair) => [pair.split('=')[0], plain(pair.split('=')[1])])) };
  });
  return {
    scene: words.get('character') ?? 'human',
    clip: words.get('clip'),
    time: Number(words.get('time') ?? 0) || 0,
    playing: words.get('play') !== '0',
    resolution: Math.min(2, Math.max(0.1, Number(words.get('resolution')) || 1)),
    views: views.length > 0 ? views.slice(0, 4) : null,
  };
}

function plain(text) {
  return text === 'true' || text === 'false' ? text === 'true' : text !== '' && Number.isFinite(Number(text)) ? Number(text) : text;
}
