// plots.js - line plots of recent values, one line per view.
const LENGTH = 240;

export class Plot {
  constructor(title, unit, digits) {
    Object.assign(this, { title, unit, digits });
    this.rows = [];
    this.canvas = Object.assign(document.createElement('canvas'), { className: 'plot', width: 600, height: 110 });
    this.canvas.setAttribute('role', 'img');
  }

  add(values) {
    values.forEach((value, i) => {
      (this.rows[i] ??= []).push(value);
      if (this.rows[i].length > LENGTH) this.rows[i].shift();
    });
    this.rows.length = values.length;
    this.#draw();
  }

  clear() {
    this.rows = [];
  }

  #draw() {
    const { canvas } = this, ink = canvas.getContext('2d'), style = getComputedStyle(canvas);
    const all = this.rows.flat().filter(Number.isFinite), low = Math.min(...all), high = Math.max(...all),
          span = high - low || 1;
    ink.clearRect(0, 0, canvas.width, canvas.height);
    this.rows.forEach((row, i) => {
      ink.strokeStyle = `hsl(${(i * 137 + 210) % 360} 70% 50%)`;
      ink.lineWidth = 2;
      ink.beginPath();
      row.forEach((value, k) => ink.lineTo((k / (LENGTH - 1)) * canvas.width,
                    canvas.height - 6 - ((value - low) / span) * (canvas.height - 42)));
      ink.stroke();
    });
    ink.fillStyle = style.color;
    ink.font = '26px system-ui, sans-serif';
    const now = this.rows.map((row) => row.at(-1)?.toFixed(this.digits)).join(' · ');
    ink.fillText(`${this.title}: ${now} ${this.unit}`, 2, 24, canvas.width - 4);
    canvas.setAttribute('aria-label', `${this.title}: ${now} ${this.unit}`);
  }
}
