import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { contrast } from './contrast.ts';

const contrasts = suite('contrast');
const of = (color: string, ...behind: string[]): string => contrast(color, behind).toFixed(2);

contrasts('is that of WCAG, whichever color is the lighter one', () => {
  assert.is(of('rgb(0, 0, 0)', 'rgb(255, 255, 255)'), '21.00');
  assert.is(of('rgb(255, 255, 255)', 'rgb(0, 0, 0)'), '21.00');
  assert.is(of('rgb(119, 119, 119)', 'rgb(255, 255, 255)'), '4.48');
  assert.is(of('color(srgb 0.4667 0.4667 0.4667)', 'rgb(255, 255, 255)'), '4.48');
});

contrasts('counts what is seen through translucent layers', () => {
  assert.is(of('rgba(0, 0, 0, 0)', 'rgb(9, 9, 9)'), '1.00');
  assert.is(of('rgb(255, 255, 255)', 'rgba(0, 0, 0, 0)', 'rgb(0, 0, 0)'), '21.00');
  assert.is(of('rgb(0, 0, 0)', 'color(srgb 0 0 0 / 0.5)'), of('rgb(0, 0, 0)', 'rgb(127.5, 127.5, 127.5)'));
  assert.is(of('rgb(0, 0, 0)'), '21.00');
});

contrasts('does not guess', () => {
  assert.throws(() => contrast('transparent', []), /no color/);
});

contrasts.run();
