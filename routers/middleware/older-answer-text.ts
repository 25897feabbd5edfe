import { SuperJSON } from 'superjson';
import { isOpaque, opaque } from '../../src/lib/json-value.ts';

const answers = new SuperJSON();
answers.registerCustom<object, string>(
  {
    isApplicable: (value): value is object => isOpaque(value),
    serialize: (value) => JSON.stringify(value),
    deserialize: (text) => opaque(JSON.parse(text)),
  },
  'free-form',
);

/**
 * The answer in a text of the form that was kept before. A key is good for a day, and also for the day on which the
 * service was brought up to date: to forget the answer would be to do the work twice.
 */
export const readOlderAnswer = (text: string): unknown => answers.parse(text);
