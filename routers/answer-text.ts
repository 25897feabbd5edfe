import { SuperJSON } from 'superjson';
import { isShielded, shielded } from '../src/core/free-form.ts';

const answers = new SuperJSON();
answers.registerCustom<object, string>(
  {
    isApplicable: (value): value is object => isShielded(value),
    serialize: (value) => JSON.stringify(value),
    deserialize: (text) => shielded(JSON.parse(text)),
  },
  'free-form',
);

/** The answer of a procedure as text, and back: dates are dates again, and free-form data is opaque to serializers. */
export const answerText = {
  write: (answer: unknown): string => answers.stringify(answer),
  read: (text: string): unknown => answers.parse(text),
};
