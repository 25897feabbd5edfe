import type { IncomingHttpHeaders } from 'node:http';
import { invalid } from '../../lib/problems.ts';

/** A structured string by the draft of that header, in quotes; most callers leave them out. */
const FORM = /^("?)([\x21\x23-\x7e]{1,255})\1$/;

/** @throws Problem `invalid-input` */
export const idempotencyKeyOf = (headers: IncomingHttpHeaders): string | null => {
  const header = headers['idempotency-key'];
  if (header === undefined) return null;
  const key = FORM.exec(String(header))?.[2];
  if (key !== undefined) return key;
  throw invalid({
    'Idempotency-Key': ['Must be 1 to 255 visible ASCII characters without quotes inside.'],
  });
};
