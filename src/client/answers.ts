import { type ProblemDocument, problemIn } from './problem-document.ts';

/** `fetch`, as far as it is used here. */
export type Send = (url: string, init?: RequestInit) => Promise<Response>;

/** An answer of Steward's, as far as tRPC looks at it. */
export type Answer = Pick<Response, 'ok' | 'status' | 'headers' | 'body' | 'json'>;

/** Nothing has answered: no network, nobody listening, or a connection that was lost half-way. */
export class Unreachable extends Error {
  constructor(cause: unknown) {
    super('Steward cannot be reached.', { cause });
    this.name = 'Unreachable';
  }
}

/** Something has answered that is not Steward: a proxy's page, a login wall, another service. */
export class ForeignAnswer extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`The answer, of status ${status}, does not come from Steward.`);
    this.name = 'ForeignAnswer';
    this.status = status;
  }
}

const JSON_TYPE = /^application\/jsonl?\b/;
/** JSON-RPC's number for "internal error", which tRPC wants in every failure and nobody reads. */
const INTERNAL_ERROR = -32_603;

/** Lets only answers of Steward through to tRPC, which would fail over any other without telling why. */
export const onlyAnswers =
  (send: Send) =>
  async (url: string, init?: RequestInit): Promise<Answer> => {
    const lost = (cause: unknown): never => {
      throw init?.signal?.aborted ? cause : new Unreachable(cause);
    };
    const response = await send(url, init).catch(lost);
    if (!response.ok) return refusalOf(response);
    if (!JSON_TYPE.test(response.headers.get('content-type') ?? '')) throw new ForeignAnswer(response.status);
    return guarded(response, lost);
  };

/**
 * A connection may also be lost while the answer arrives. The body is wrapped for those alone who stream it: Chromium
 * reports every request as aborted whose body was read through another stream.
 */
const guarded = (response: Response, lost: (cause: unknown) => never): Answer => ({
  ok: response.ok,
  status: response.status,
  headers: response.headers,
  get body() {
    return response.body && guardedStream(response.body, lost);
  },
  json: () =>
    response
      .json()
      .catch((cause: unknown) => (cause instanceof SyntaxError ? foreign(response) : lost(cause))),
});

const foreign = ({ status }: Response): never => {
  throw new ForeignAnswer(status);
};

const guardedStream = <Chunk>(body: ReadableStream<Chunk>, lost: (cause: unknown) => never) => {
  const reader = body.getReader();
  return new ReadableStream<Chunk>({
    pull: async (controller) => {
      const chunk = await reader.read().catch(lost);
      if (chunk.done) controller.close();
      else controller.enqueue(chunk.value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
};

/**
 * What is refused before a procedure is reached (a page of another site, a body that is too large) comes as a
 * problem document; tRPC then gets it in the form that it knows.
 */
const refusalOf = async (response: Response): Promise<Response> => {
  const text = await response.text().catch((cause: unknown) => {
    throw new Unreachable(cause);
  });
  const answer = parsed(text);
  const { status } = response;
  if (isEnvelope(answer)) return new Response(text, { status });
  const problem = problemIn(answer);
  if (!problem) throw new ForeignAnswer(status);
  return Response.json(envelopeOf(problem, response.headers.get('retry-after')), { status });
};

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

/** One answer of tRPC, or as many as there were calls. */
const isEnvelope = (answer: unknown): boolean =>
  Array.isArray(answer)
    ? answer.every(isEnvelope)
    : isObject(answer) && (isObject(answer.result) || (isObject(answer.error) && 'json' in answer.error));

const envelopeOf = ({ code, detail, status, fields }: ProblemDocument, retryAfter: string | null) => {
  const retryAfterSeconds = retryAfter === null ? undefined : Number(retryAfter);
  const data = { code: 'BAD_REQUEST', httpStatus: status, problem: { code, fields, retryAfterSeconds } };
  return { error: { json: { message: detail, code: INTERNAL_ERROR, data } } };
};
