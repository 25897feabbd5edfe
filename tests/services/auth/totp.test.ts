import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { matchTotpStep, newTotpSecret, otpauthUrl } from '../../../src/services/auth/one-time-codes.ts';
import { codeAt } from '../../support/second-factors.ts';

const totp = suite('codes of authenticator apps');

/** `12345678901234567890`, the secret of the examples in RFC 6238, appendix B. */
const SECRET = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
const at = (seconds: number) => new Date(seconds * 1000);
const stepOf = (code: string, seconds: number, lastStep: number | null = null) =>
  matchTotpStep(SECRET, code, { now: at(seconds), lastStep });

const stepsOf = (code: string, seconds: number[]) => Promise.all(seconds.map((each) => stepOf(code, each)));

totp('are accepted one step before and after their own, and no longer', async () => {
  const code = codeAt(SECRET, at(3000));
  assert.equal(await stepsOf(code, [2970, 2999, 3000, 3029, 3059]), [100, 100, 100, 100, 100]);
  assert.equal(await stepsOf(code, [2939, 2969, 3060]), [null, null, null]);
});

totp('are refused in a step that was used, and in earlier ones', async () => {
  const earlier = codeAt(SECRET, at(2970));
  const code = codeAt(SECRET, at(3000));
  assert.equal([await stepOf(code, 3000, 99), await stepOf(code, 3000, 100)], [100, null]);
  assert.equal([await stepOf(earlier, 3000, 98), await stepOf(earlier, 3000, 100)], [99, null]);
  // The clock was set back.
  assert.is(await stepOf(code, 3000, 1_000_000), null);
});

totp('have six digits', async () => {
  for (const code of ['', '12345', '1234567', '12345a', ' 28708', '١٢٣٤٥٦'])
    assert.is(await stepOf(code, 59), null, code);
});

totp('may be typed in groups, with spaces or hyphens', async () => {
  for (const code of ['287 082', '287-082', ' 28-70-82 ']) assert.is(await stepOf(code, 59), 1, code);
});

totp('come from secrets of 160 bits, which the address for the QR code names', async () => {
  const secret = await newTotpSecret();
  const url = new URL(await otpauthUrl('Acme: Süd & Co', 'ada+x@acme.test', secret));
  const [, label = ''] = /^otpauth:\/\/totp\/([^?]+)/.exec(url.href) ?? [];

  assert.match(secret, /^[A-Z2-7]{32}$/);
  assert.is.not(secret, await newTotpSecret());
  assert.is(decodeURIComponent(label), 'Acme  Süd & Co:ada+x@acme.test');
  assert.equal(Object.fromEntries(url.searchParams), { secret, issuer: 'Acme  Süd & Co' });
});

totp.run();
