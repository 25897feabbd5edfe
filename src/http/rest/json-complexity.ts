import { invalid } from '../../lib/problems.ts';

/** 10,000 entries of usage as platforms send them are 300,000. So many take `JSON.parse` up to 150 ms. */
const MAX_VALUES = 500_000;
/** Whatever a shorter text holds is parsed in about as long. */
const MIN_CHECKED_LENGTH = 1024 * 1024;
const [COMMA, BRACKET, BRACE] = [',', '[', '{'].map((sign) => sign.charCodeAt(0));

/**
 * Counts before it is parsed, 2 ns a character, what JSON is made of: 16 MiB of `[],[],[]` would hold up everybody for
 * seconds. Signs within texts are counted as well, which does no harm at this limit.
 * @throws Problem `invalid-input`
 */
export const limitJsonComplexity = (text: string): void => {
  if (text.length <= MIN_CHECKED_LENGTH) return;
  let values = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === COMMA || code === BRACKET || code === BRACE) values += 1;
  }
  if (values > MAX_VALUES)
    throw invalid({ body: [`Must not hold more than ${MAX_VALUES} values: send fewer at once.`] });
};
