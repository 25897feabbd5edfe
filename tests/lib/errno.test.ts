import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { reasonOf, unreachedReasonOf } from '../../src/lib/errno.ts';
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

failures('that are none keep their message', () => {
  const error = new Error('the certificate has expired');

  assert.is(reasonOf(error), 'the certificate has expired');
  assert.is(reasonOf('text'), 'text');
});

failures('to reach a URL that a person entered say which host was not found', () => {
  const lookups = { syscall: 'getaddrinfo', code: 'ENOTFOUND', hostname: 'login.acme.test' };
  const unknown = Object.assign(new Error('getaddrinfo ENOTFOUND'), { ...lookups, errno: -3008 });

  assert.is(unreachedReasonOf(unknown), 'The host login.acme.test was not found.');
  assert.is(unreachedReasonOf(ofSocket), reasonOf(ofSocket));
});

failures.run();
