import { PassThrough } from 'node:stream';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createProgress } from '../../src/cli/reports.ts';

const screen = (isTTY: boolean) => {
  const stream = Object.assign(new PassThrough(), { isTTY });
  return { stream, text: () => String(stream.read() ?? '') };
};

const progress = suite('createProgress');

progress('shows progress on a terminal, and clears it at the end', () => {
  const { stream, text } = screen(true);

  const bar = createProgress('Inviting', 40, stream);
  bar.advance();
  bar.advance(9);
  bar.stop();

  const shown = text();
  assert.match(shown, 'Inviting [');
  assert.match(shown, ' 10/40, ');
  assert.ok(shown.endsWith('\x1B[2K'), 'the line is cleared');
});

progress('prints nothing without a terminal', () => {
  const { stream, text } = screen(false);

  const bar = createProgress('Inviting', 40, stream);
  bar.advance(40);
  bar.stop();

  assert.is(text(), '');
});

progress.run();
