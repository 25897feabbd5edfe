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

/** Rejects lost connections and foreign responses with a clear error, before tRPC fails to parse them. */
export const withResponseChecks =
  (send: Send) =>
  async (url: string, init?: RequestInit): Promise<StewardResponse> => {
    const fail = (cause: unknown): never => {
      throw init?.signal?.aborted ? cause : new Unreachable(cause);
    };
    const response = await send(url, init).catch(fail);
    if (!response.ok) return requireError(response);
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

/** A response of tRPC, or the problem document of another path. */
const requireError = async (response: Response): Promise<Response> => {
  const { status, headers } = response;
  if (headers.get('content-type')?.startsWith('application/problem+json')) return response;
  const text = await response.text().catch((cause: unknown) => {
    throw new Unreachable(cause);
  });
  if (!isEnvelope(parseJson(text))) throw new ForeignAnswer(status);
  return new Response(text, { status, headers });
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
