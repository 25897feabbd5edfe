/** Red, green and blue from 0 to 1, and the opacity. */
type Color = readonly [red: number, green: number, blue: number, alpha: number];

const WHITE: Color = [1, 1, 1, 1];

/** Reads a color as browsers compute it: `rgb(1, 2, 3)`, `rgba(1, 2, 3, 0.5)` or `color(srgb 0.1 0.2 0.3 / 0.5)`. */
const parse = (text: string): Color => {
  const [red = Number.NaN, green = Number.NaN, blue = Number.NaN, alpha = 1] = [
    ...text.matchAll(/[\d.]+(?:e-\d+)?/g),
  ].map(([digits]) => Number(digits));
  const scale = text.startsWith('color(srgb') ? 1 : 255;
  const color: Color = [red / scale, green / scale, blue / scale, alpha];
  if (color.some(Number.isNaN)) throw new Error(`${text} is no color in sRGB.`);
  return color;
};

const over = ([r, g, b, alpha]: Color, behind: Color): Color => {
  const mix = (front: number, back: number): number => front * alpha + back * (1 - alpha);
  return [mix(r, behind[0]), mix(g, behind[1]), mix(b, behind[2]), 1];
};

/** What is seen of layers, the front one first, on a white page. */
const flatten = (layers: readonly string[]): Color =>
  layers.map(parse).reduceRight((behind, layer) => over(layer, behind), WHITE);

/** The relative luminance of WCAG 2. */
const luminance = ([red, green, blue]: Color): number => {
  const linear = (value: number): number =>
    value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
};

/** The contrast of WCAG 2, from 1 to 21, of a color with the layers behind it, the front one first. */
export const contrast = (color: string, behind: readonly string[]): number => {
  const [one, other] = [flatten([color, ...behind]), flatten(behind)]
    .map(luminance)
    .toSorted((a, b) => b - a);
  return ((one ?? 0) + 0.05) / ((other ?? 0) + 0.05);
};
