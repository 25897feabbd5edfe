/** Stands in a request where something is to be new each time: all of one sending get the same number, as long as it. */
export const STAMP = 'stamp-0000';
const RANGE = 10n ** BigInt(STAMP.length);

/** A copy in which every stamp is a number, of microseconds; the same bytes where there is none to write. */
export const stamped = (request: Buffer): Buffer => {
  let at = request.indexOf(STAMP, 0, 'latin1');
  if (at < 0) return request;
  const copy = Buffer.from(request);
  const number = ((process.hrtime.bigint() / 1000n) % RANGE).toString().padStart(STAMP.length, '0');
  for (; at >= 0; at = request.indexOf(STAMP, at + STAMP.length, 'latin1')) copy.write(number, at, 'latin1');
  return copy;
};
