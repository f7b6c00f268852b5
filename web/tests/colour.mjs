// Colours as numbers: contrast (WCAG 2), OKLab, and simulation of colour vision deficiencies.
export const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255);
const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
const times = (m, v) => m.map((row) => row[0] * v[0] + row[1] * v[1] + row[2] * v[2]);

export const luminance = (hex) => {
  const [r, g, b] = rgb(hex).map(linear);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
export function contrast(a, b) {
  const [x, y] = [luminance(a) + 0.05, luminance(b) + 0.05];
  return Math.max(x, y) / Math.min(x, y);
}

// Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB; achromatopsia is luminance only.
export const deficiencies = {
  none: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  tritanopia: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
  achromatopsia: [[0.2126, 0.7152, 0.0722], [0.2126, 0.7152, 0.0722], [0.2126, 0.7152, 0.0722]],
};

// Lightness, green to red, blue to yellow (Ottosson 2020).
export function oklab(hex, deficiency = 'none') {
  const seen = times(deficiencies[deficiency], rgb(hex).map(linear)).map((v) => Math.min(1, Math.max(0, v)));
  const lms = times([[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566], [0.0883024619, 0.2817188376, 0.6299787005]], seen).map(Math.cbrt);
  return times([[0.2104542553, 0.793617785, -0.0040720468], [1.9779984951, -2.428592205, 0.4505937099], [0.0259040371, 0.7827717662, -0.808675766]], lms);
}
export function distance(a, b, deficiency = 'none') {
  const [x, y] = [oklab(a, deficiency), oklab(b, deficiency)];
  return Math.hypot(x[0] - y[0], x[1] - y[1], x[2] - y[2]);
}
export const mixed = (hex, ground, share) => '#' + rgb(hex).map((v, i) => Math.round(255 * (v * share + rgb(ground)[i] * (1 - share))).toString(16).padStart(2, '0')).join('');
