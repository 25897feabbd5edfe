import { constants } from 'node:os';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  createLogger,
  createOperatorOutput,
  type LogFormat,
  withoutKnownStacks,
} from '../../src/lib/logger.ts';

const output = suite('createOperatorOutput');

const outputOn = (isTTY: boolean, format: LogFormat) => {
  const written = { log: [] as string[], stdout: '', stderr: '' };
  const writerOf = (name: 'stdout' | 'stderr') => ({
    isTTY,
    write: (text: string) => {
      written[name] += text;
    },
  });
  const logger = {
    info: (line: string) => {
      written.log.push(line);
    },
  };
  const { printLine, printSecret } = createOperatorOutput(logger, {
    format,
    stdout: writerOf('stdout'),
    stderr: writerOf('stderr'),
  });
  printLine('');
  printLine('  listens');
  printSecret('password');
  return written;
};

output('writes plain text to a terminal', () => {
  assert.equal(outputOn(true, 'text'), { log: [], stdout: '\n  listens\npassword\n', stderr: '' });
});

for (const isTTY of [true, false])
  output(`writes only log entries, without secrets, if the log is JSON (terminal: ${isTTY})`, () => {
    assert.equal(outputOn(isTTY, 'json'), { log: ['listens'], stdout: '', stderr: 'password\n' });
  });

output('writes log entries, which have a time, and no secret to a file that has the log as text', () => {
  assert.equal(outputOn(false, 'text'), { log: ['listens'], stdout: '', stderr: 'password\n' });
});

output.run();

const text = suite('log lines as text');

const TIME = '[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z';

/** What a logger with the format `text` writes. */
const logged = (log: (logger: ReturnType<typeof createLogger>) => void): string => {
  let written = '';
  const destination = {
    write: (line: string) => {
      written += line;
    },
  };
  log(createLogger('trace', { format: 'text', destination }));
  return written;
};

text('have time, level, method, path, status and duration of a response', () => {
  const line = logged((logger) =>
    logger.info(
      { reqId: 'r-1', method: 'GET', path: '/api/v1/jb/users/', status: 200, ms: 3, user_id: 7 },
      'request completed',
    ),
  );

  assert.match(line, new RegExp(`^\\[${TIME}\\] INFO: GET /api/v1/jb/users/ 200 3 ms\\n$`));
});

text('have the message and other fields of an entry, and the stack of an error', () => {
  const warning = logged((logger) => logger.warn({ task: 'usage', tries: 2 }, 'task is late'));
  const failure = logged((logger) => logger.error({ err: new Error('no route') }, 'request failed'));

  assert.match(warning, 'WARN: task is late {"task":"usage","tries":2}\n');
  assert.match(failure, /ERROR: request failed.*no route.*at .*logger\.test/s);
});

text('have one sentence for a failure whose stack is known', () => {
  const cause = Object.assign(new Error('connect ECONNREFUSED ::1:5432'), {
    errno: -constants.errno.ECONNREFUSED,
    syscall: 'connect',
    address: '::1',
    port: 5432,
  });
  const line = logged((logger) =>
    withoutKnownStacks(logger, () => true).error({ err: new Error('No database.', { cause }) }, 'failed'),
  );

  assert.match(line, 'No database. ([::1]:5432: connection refused)');
  assert.not.match(line, /\bat /);
});

text('contain no character that a terminal obeys', () => {
  const entry = { path: 'a\u001b[2J\u009b\nb', status: 200, ms: 1, name: 'c\u001b[2J' };
  const line = logged((logger) => logger.info(entry, 'bell \u0007'));

  assert.not.match(line.trimEnd(), /(?!\n)\p{Cc}/u);
});

text('keep secrets out, as JSON lines do', () => {
  const line = logged((logger) => logger.info({ user: { password: 'hunter2' }, token: 'abc' }, 'login'));

  assert.match(line, '"token":"[secret]"');
  assert.not.match(line, /hunter2|abc/);
});

text.run();
