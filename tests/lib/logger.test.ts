import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createOperatorOutput } from '../../src/lib/logger.ts';

const output = suite('createOperatorOutput');

const outputOn = (isTTY: boolean) => {
  const written = { log: '', stdout: '', stderr: '' };
  const writerOf = (name: 'stdout' | 'stderr') => ({
    isTTY,
    write: (text: string) => {
      written[name] += text;
    },
  });
  const logger = {
    info: (line: string) => {
      written.log += line;
    },
  };
  const { printLine, printSecret } = createOperatorOutput(logger, {
    stdout: writerOf('stdout'),
    stderr: writerOf('stderr'),
  });
  printLine('listens');
  printSecret('password');
  return written;
};

output('writes plain text to a terminal', () => {
  assert.equal(outputOn(true), { log: '', stdout: 'listens\npassword\n', stderr: '' });
});

output('writes only log entries, without secrets, if standard output is not a terminal', () => {
  assert.equal(outputOn(false), { log: 'listens', stdout: '', stderr: 'password\n' });
});

output.run();
