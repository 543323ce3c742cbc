// display.js - display options: skeleton, wireframe, colors, and the inside of the character.
import { button, element, labelled, select } from './panel.js';

// `apply` applies the state to the views.
export function displayControls(state, views, methods, apply, fit) {
  const has = (what) => views.some((view) => methods.find((m) => m.name === view.method)?.[what]);
  const tick = (name, text, reason = '') => {
    const box = element(
      'input', { type: 'checkbox', checked: state[name] && !reason, disabled: reason !== '', id: `show-${name}` });
    box.addEventListener('change', () => ((state[name] = box.checked), apply()));
    const label = labelled(text, box);
    label.title = reason;
    label.classList.toggle('dim', reason !== '');
    return label;
  };
  const colorMode =
    select(['none', 'stretch', 'contact', 'weights'], state.colorMode, (value) => ((state.colorMode = value), apply()));
  colorMode.id = 'color-mode';
  const inner = has('hasInner') ? '' : 'These methods have no simulated tissue; projective and position have.';
  const field = has('hasField') ? '' : 'These methods have no field; implicit has one.';
  const axis = select(['x', 'y', 'z'], state.axis, (value) => ((state.axis = value), apply()));
  axis.id = 'cut-axis';
  const at = element('input', { type: 'range', min: 0, max: 1, step: 'any', value: state.at, id: 'cut-at' });
  at.addEventListener('input', () => ((state.at = Number(at.value)), apply()));
  return [
    tick('skeleton', 'Skeleton'),
    tick('wire', 'Wireframe'),
    labelled('Color by', colorMode),
    tick('bones', 'Volumetric bones', inner),
    tick('tissue', 'Tissue cross-section', inner),
    tick('field', 'Field iso-lines', field),
    labelled('Cutting axis', axis),
    labelled('Cut position', at),
    button('Fit view', fit, 'F'),
  ];
}
