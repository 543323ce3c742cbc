// url_state.js - the studio state in the URL fragment, so that a link to a built-in character reproduces the view.

export function writeUrlState(state) {
  if (!state.scene) return history.replaceState(null, '', location.pathname);
  const params = new URLSearchParams(
    { character: state.scene, clip: state.clip, time: state.time.toFixed(3), play: state.playing ? 1 : 0 });
  if (state.resolution !== 1) params.set('resolution', state.resolution);
  for (const { method, settings } of state.views)
    params.append('view', [method, ...Object.entries(settings).map(([name, value]) => `${name}=${value}`)].join(';'));
  history.replaceState(null, '', `#${params}`);
}

export function readUrlState() {
  const params = new URLSearchParams(location.hash.slice(1));
  const views = params.getAll('view').map((text) => {
    const [method, ...pairs] = text.split(';');
    return {
      method,
      settings: Object.fromEntries(pairs.map((pair) => [pair.split('=')[0], parseValue(pair.split('=')[1])]))
    };
  });
  return {
    scene: params.get('character') ?? 'human',
    clip: params.get('clip'),
    time: Number(params.get('time') ?? 0) || 0,
    playing: params.get('play') !== '0',
    resolution: Math.min(2, Math.max(0.1, Number(params.get('resolution')) || 1)),
    views: views.length > 0 ? views.slice(0, 4) : null,
  };
}

function parseValue(text) {
  return text === 'true' || text === 'false'       ? text === 'true'
    : text !== '' && Number.isFinite(Number(text)) ? Number(text)
                                                   : text;
}
