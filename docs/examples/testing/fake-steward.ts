// A fake of the service for unit tests of a front end: a `fetch` for the client that calls your functions.
import {
  type FieldErrors,
  type ProblemCode,
  type RouterInputs,
  type RouterOutputs,
  type Send,
  transformer,
} from '@steward/client';

/** Of the calls that the tested code makes, typed by the procedures: `{ users: { create: ({ email }) => … } }`. */
export type Answers = {
  [Noun in keyof RouterOutputs]?: {
    [Verb in keyof RouterOutputs[Noun]]?: (
      input: RouterInputs[Noun][Verb],
    ) => RouterOutputs[Noun][Verb] | Promise<RouterOutputs[Noun][Verb]>;
  };
};

/** Thrown by an answer, as the service refuses a call. */
export class Refusal extends Error {
  readonly problem: { code: ProblemCode; fields: FieldErrors | undefined };

  constructor(code: ProblemCode, message: string, fields?: FieldErrors) {
    super(message);
    this.problem = { code, fields };
  }
}

/** Answers all calls but subscriptions and those that are streamed. */
export const fakeSteward =
  (answers: Answers): Send =>
  async (address, init) => {
    const { pathname, searchParams } = new URL(address);
    const names = pathname.replace('/trpc/', '').split(',');
    const sent = JSON.parse(searchParams.get('input') ?? String(init?.body ?? '{}'));
    const isBatch = searchParams.has('batch');
    const results = await Promise.all(
      names.map((name, index) => answerTo(name, answers, isBatch ? sent[index] : sent)),
    );
    return Response.json(isBatch ? results : results[0], {
      status: 'error' in (results[0] ?? {}) ? 400 : 200,
    });
  };

const answerTo = async (name: string, answers: Answers, input: unknown) => {
  const [noun = '', verb = ''] = name.split('.');
  const functions = answers as Record<string, Record<string, (input: unknown) => unknown> | undefined>;
  const answer = functions[noun]?.[verb];
  if (!answer) throw new Error(`The test has no answer to ${name}.`);
  try {
    const result = await answer(input === undefined ? input : transformer.deserialize(input as never));
    return { result: { data: transformer.serialize(result) } };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { message, problem } = error;
    const data = { code: 'BAD_REQUEST', httpStatus: 400, path: name, problem };
    return { error: transformer.serialize({ message, code: -32600, data }) };
  }
};
