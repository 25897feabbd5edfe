import { EventEmitter } from 'node:events';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { stopSignal } from '../../src/main.ts';

const signals = suite('the signal that stops a service');

signals('is the first one; the same one again ends it only if it comes later', async () => {
  const process = new EventEmitter();
  const exits: number[] = [];
  let ms = 5_000;
  const stopped = stopSignal(
    process,
    (code) => exits.push(code),
    () => ms,
  );

  process.emit('SIGINT');
  assert.is(await stopped, 'SIGINT');
  // npm forwards a signal that the whole process group has received.
  ms += 900;
  process.emit('SIGINT');
  assert.equal(exits, []);
  ms += 200;
  process.emit('SIGTERM');

  assert.equal(exits, [130]);
});

signals.run();
