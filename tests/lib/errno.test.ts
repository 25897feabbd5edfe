import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { reasonOf, remedyOf, withRemedy } from '../../src/lib/errno.ts';
import { freePort } from '../support/tcp.ts';

const failures = suite('failed system calls');

const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error: unknown) => error,
  );

const port = await freePort();
const ofFile = await failureOf(readFile('/etc/passwd/below'));
const ofSocket = await failureOf(once(connect(port, '127.0.0.1'), 'connect'));
const ofHost = await failureOf(lookup('host.invalid'));

failures('say where and why in words, without codes', () => {
  assert.is(reasonOf(ofFile), '/etc/passwd/below: not a directory');
  assert.is(reasonOf(ofSocket), `127.0.0.1:${port}: connection refused`);
  assert.match(reasonOf(ofHost), /^host\.invalid: (no such host|no name server answers)$/);
});

failures('of several addresses are named once each', () => {
  assert.is(
    reasonOf(new AggregateError([ofFile, ofSocket, ofFile])),
    `${reasonOf(ofFile)}; ${reasonOf(ofSocket)}`,
  );
});

failures('have a remedy, also as the cause of another error', () => {
  const readOnly = Object.assign(new Error('EROFS'), { code: 'EROFS' });
  const wrapped = new Error('no backup', { cause: readOnly });

  assert.match(remedyOf(wrapped) ?? '', /^Make it writable/);
  assert.is(
    withRemedy('No connection.', ofSocket),
    'No connection. Check that the server runs at this address.',
  );
});

failures('that are none keep their message', () => {
  const error = new Error('the certificate has expired');

  assert.is(reasonOf(error), 'the certificate has expired');
  assert.is(reasonOf('text'), 'text');
  assert.is(withRemedy('No connection.', error), 'No connection.');
});

failures.run();
