/** Room for a piece of a list, and for a last row that goes beyond. */
export const BUFFER_BYTES = 288 * 1024;
/** 9 MiB, for some lists at a time. */
const MOST_SPARE = 32;

const spare: Buffer[] = [];

/**
 * A buffer for a piece of an answer, with anything in it. V8 counts buffers as garbage to come: new ones for each piece had it
 * look through all that lives after every few lists.
 */
export const takeBuffer = (): Buffer => spare.pop() ?? Buffer.allocUnsafeSlow(BUFFER_BYTES);

/** To be called once, when what was in it has been sent. One that is not given back is garbage as any other. */
export const releaseBuffer = (buffer: Buffer): void => {
  if (spare.length < MOST_SPARE) spare.push(buffer);
};
