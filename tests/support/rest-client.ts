export type RestOptions = { token?: string; body?: unknown; headers?: Record<string, string> };

const REQUEST_TIMEOUT_MS = 30_000;

/** Sends requests to a listening service, over real sockets. */
export const createRestClient = (address: string) => {
  /** Sends `'GET /jb/sites/'` under `/api/v1`. A path that starts with `!` gets no prefix. */
  const send = async (line: string, { token, body, headers }: RestOptions = {}) => {
    const [method = '', path = ''] = line.split(' ');
    const response = await fetch(address + (path.startsWith('!') ? path.slice(1) : `/api/v1${path}`), {
      method,
      headers: {
        ...(token !== undefined && { authorization: `Token ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: /json/.test(response.headers.get('content-type') ?? '') ? JSON.parse(text) : undefined,
    };
  };

  return {
    send,

    /** The response to a login, and its token on success. */
    logIn: async (username: string, password: string) => {
      const answer = await send('POST /api-token-auth/', { body: { username, password } });
      return { ...answer, token: String(answer.json?.token) };
    },
  };
};
