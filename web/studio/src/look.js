// look.js - controls of what is shown: skeleton, triangles, colours, and what is under the skin.
import { button, element, labelled, select } from './panel.js';

// `apply` puts the state into the views.
export function lookControls(state, views, methods, apply, fit) {
  const has = (what) => views.some((view) => methods.find((m) => m.name === view.method)?.[what]);
  const tick = (name, text, reason = '') => {
    const box = element('input', { type: 'checkbox', checked: state[name] && !reason, disabled: reason !== '', id: `show-${name}` });
    box.addEventListener('change', () => ((state[name] = box.checked), apply()));
    const label = labelled(text, box);
    label.title = reason;
    label.classList.toggle('dim', reason !== '');
    return label;
  };
  const heat = select(['none', 'stretch', 'contact', 'weights'], state.heat, (value) => ((state.heat = value), apply()));
  heat.id = 'heat';
  const inner = has('hasInner') ? '' : 'These methods have nothing under the skin; projective and position do.';
  const field = has('hasField') ? '' : 'These methods have no field; implicit has.';
  const axis = select(['x', 'y', 'z'], state.axis, (value) => ((state.axis = value), apply()));
  axis.id = 'cut-axis';
  const at = element('input', { type: 'range', min: 0, max: 1, step: 'any', value: state.at, id: 'cut-at' });
  at.addEventListener('input', () => ((state.at = Number(at.value)), apply()));
  return [
    tick('skeleton', 'Skeleton'), tick('wire', 'Triangles'), labelled('Colours', heat),
    tick('bones', 'Volumetric bones', inner), tick('flesh', 'Flesh, cut open', inner), tick('field', 'Iso-lines of the field', field),
    labelled('Cut across', axis), labelled('at', at), button('Fit into view', fit, 'F'),
  ];
}
