// panel.js - controls of one view, generated from the parameter table of the method.

// `on`: { method(name), live(name, value), rebind(name, value) }
export function methodPanel(methods, view, on) {
  const method = methods.find((m) => m.name === view.method) ?? methods[0];
  const choose = select(methods.map((m) => m.name), method.name, (name) => on.method(name));
  choose.dataset.role = 'method';
  const rows = method.params.map((param) => row(param, view.settings[param.name] ?? default_value(param),
                                   (value) => (param.live ? on.live : on.rebind)(param.name, value)));
  return { chooser: [labelled('Method', choose), element('p', {}, method.summary)], rows };
}

function row(param, value, change) {
  const input = control(param, value, change);
  const unit = param.unit ? ` (${param.unit})` : '';
  const line = element('div', {
    className: param.live ? 'row' : 'row rebind',
    title: param.live ? param.help : `${param.help} Needs a new bind.`
  });
  const label = element('label', {}, param.name.replaceAll('_', ' ') + unit);
  input.id = label.htmlFor = `param-${param.name}`;
  const shown = element('output', {}, show(param, value));
  input.addEventListener('input', () => (shown.textContent = show(param, read(param, input))));
  line.append(label, input, shown, element('small', {}, param.help));
  return line;
}

function control(param, value, change) {
  if (param.type === 'choice')
    return select(param.choices, typeof value === 'number' ? param.choices[value] : value, change);
  const input = element('input', { type: param.type === 'bool' ? 'checkbox' : 'range' });
  if (param.type === 'bool') input.checked = Boolean(value);
  else Object.assign(input, { min: 0, max: 1000, step: 1, value: toSlider(param, value) });
  input.addEventListener('change', () => change(read(param, input)));
  return input;
}

// Wide ranges use a logarithmic slider.
function isWide(param) {
  return param.minimum > 0 && param.maximum / param.minimum > 1000;
}

function toSlider(param, value) {
  const t = isWide(param) ? Math.log(value / param.minimum) / Math.log(param.maximum / param.minimum)
                          : (value - param.minimum) / (param.maximum - param.minimum || 1);
  return Math.round(1000 * t);
}

function read(param, input) {
  if (param.type === 'choice') return input.value;
  if (param.type === 'bool') return input.checked;
  const t = Number(input.value) / 1000;
  const value = isWide(param) ? param.minimum * (param.maximum / param.minimum) ** t
                              : param.minimum + t * (param.maximum - param.minimum);
  return param.type === 'int' ? Math.round(value) : value;
}

function show(param, value) {
  if (param.type === 'bool') return value ? 'on' : 'off';
  if (param.type === 'choice') return '';
  return param.type === 'int' ? String(value) : Number(value).toPrecision(3);
}

function default_value(param) {
  return param.type === 'choice' ? param.choices[param.default_value]
    : param.type === 'bool'      ? param.default_value !== 0
                                 : param.default_value;
}

export function heading(text) {
  return element('h2', {}, text);
}

export function labelled(text, input) {
  const label = element('label', { className: 'wide' }, text);
  label.append(input);
  return label;
}

export function button(text, act, title = '') {
  const made = element('button', { type: 'button', title }, text);
  made.addEventListener('click', act);
  return made;
}

export function select(options, value, change) {
  const made = element('select');
  made.append(...options.map((text) => element('option', { value: text, selected: text === value }, text)));
  made.addEventListener('change', () => change(made.value));
  return made;
}

export function element(tag, properties = {}, text = undefined) {
  const made = Object.assign(document.createElement(tag), properties);
  if (text !== undefined) made.textContent = text;
  return made;
}
