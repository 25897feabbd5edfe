/** The subset of `fetch` that the client uses. */
export type Send = (url: string, init?: RequestInit) => Promise<Response>;

/** The subset of `Response` that tRPC uses. */
export type StewardResponse = Pick<Response, 'ok' | 'status' | 'headers' | 'body' | 'json'>;

/** No response: no network, connection refused, or connection lost. */
export class Unreachable extends Error {
  constructor(cause: unknown) {
    super('Steward cannot be reached.', { cause });
    this.name = 'Unreachable';
  }
}

/** A response that is not from Steward: the page of a proxy, a captive portal, another service. */
export class ForeignAnswer extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`Received a response that is not from Steward (status ${status}).`);
    this.name = 'ForeignAnswer';
    this.status = status;
  }
}

const JSON_TYPE = /^application\/jsonl?\b/;
/** The JSON-RPC code of an internal error. tRPC requires one in every error; the client ignores it. */
const INTERNAL_ERROR = -32_603;

/** Rejects lost connections and foreign responses with a clear error, before tRPC fails to parse them. */
export const withResponseChecks =
  (send: Send) =>
  async (url: string, init?: RequestInit): Promise<StewardResponse> => {
    const fail = (cause: unknown): never => {
      throw init?.signal?.aborted ? cause : new Unreachable(cause);
    };
    const response = await send(url, init).catch(fail);
    if (!response.ok) return toErrorResponse(response);
    if (!JSON_TYPE.test(response.headers.get('content-type') ?? '')) throw new ForeignAnswer(response.status);
    return guardBody(response, fail);
  };

/**
 * Detects connections that are lost while the body arrives. Wraps the stream lazily, only for streamed calls: Chromium
 * reports a request as aborted if its body is read through another stream.
 */
const guardBody = (response: Response, fail: (cause: unknown) => never): StewardResponse => ({
  ok: response.ok,
  status: response.status,
  headers: response.headers,
  get body() {
    return response.body && guardStream(response.body, fail);
  },
  json: () =>
    response
      .json()
      .catch((cause: unknown) => (cause instanceof SyntaxError ? throwForeign(response) : fail(cause))),
});

const throwForeign = ({ status }: Response): never => {
  throw new ForeignAnswer(status);
};

const guardStream = <Chunk>(body: ReadableStream<Chunk>, fail: (cause: unknown) => never) => {
  const reader = body.getReader();
  return new ReadableStream<Chunk>({
    pull: async (controller) => {
      const chunk = await reader.read().catch(fail);
      if (chunk.done) controller.close();
      else controller.enqueue(chunk.value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
};

/**
 * Requests that fail before they reach a procedure (cross-site, body too large) get a problem document. Converts it into
 * tRPC's error format.
 */
const toErrorResponse = async (response: Response): Promise<Response> => {
  const text = await response.text().catch((cause: unknown) => {
    throw new Unreachable(cause);
  });
  const body = parseJson(text);
  const { status } = response;
  const id = response.headers.get('x-request-id');
  const headers: Record<string, string> = id === null ? {} : { 'x-request-id': id };
  const init = { status, headers };
  if (isEnvelope(body)) return new Response(text, init);
  const problem = parseProblem(body);
  if (!problem) throw new ForeignAnswer(status);
  return Response.json(toEnvelope(problem, response.headers.get('retry-after')), init);
};

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

/** A tRPC response, or an array of them for a batch. */
const isEnvelope = (body: unknown): boolean =>
  Array.isArray(body)
    ? body.every(isEnvelope)
    : isObject(body) && (isObject(body.result) || (isObject(body.error) && 'json' in body.error));

const toEnvelope = ({ code, detail, status, fields }: ProblemDocument, retryAfter: string | null) => {
  const retryAfterSeconds = retryAfter === null ? undefined : Number(retryAfter);
  const data = { code: 'BAD_REQUEST', httpStatus: status, problem: { code, fields, retryAfterSeconds } };
  return { error: { json: { message: detail, code: INTERNAL_ERROR, data } } };
};

/** The members of Steward's RFC 9457 documents that the client reads. */
type ProblemDocument = {
  code: string;
  detail: string;
  status: number;
  fields: Record<string, string[]> | undefined;
};

const TYPE = /^urn:steward:problem:(.+)$/;

/** Null if the document is not a problem of Steward. */
const parseProblem = (document: unknown): ProblemDocument | null => {
  if (!isObject(document)) return null;
  const { type, detail, status, errors } = document;
  const [, code] = TYPE.exec(String(type)) ?? [];
  if (code === undefined || typeof detail !== 'string' || typeof status !== 'number') return null;
  return { code, detail, status, fields: parseFields(errors) };
};

const parseFields = (errors: unknown): Record<string, string[]> | undefined => {
  if (!isObject(errors)) return undefined;
  return Object.fromEntries(
    Object.entries(errors).map(([field, messages]) => [field, [messages].flat().map(String)]),
  );
};
