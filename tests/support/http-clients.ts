import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import type { InjectOptions } from 'fastify';
import type { App } from '../../src/app.ts';
import type { Send } from '../../src/client.ts';
import { addressOf, type TestApp } from './test-app.ts';

export type RestOptions = { token?: string; body?: unknown; headers?: Record<string, string> };

/** Only ends what hangs: a busy machine can take many times as long as an idle one. */
const REQUEST_TIMEOUT_MS = 60_000;

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

type ScriptRequest = { payload?: InjectOptions['payload']; headers?: Record<string, string> };

/** Sends requests as a browser script does: keeps cookies, and sends the CSRF token of its cookie by default. */
export const createScript = (app: TestApp) => {
  const cookies = new Map<string, string>();
  const send = async (line: string, { payload, headers }: ScriptRequest = {}) => {
    const csrf = cookies.get('csrftoken');
    const response = await app.send(line, {
      ...(payload !== undefined && { payload }),
      headers: {
        cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        ...(csrf !== undefined && !line.startsWith('GET') && { 'x-csrftoken': csrf }),
        ...headers,
      },
    });
    for (const { name, value } of response.cookies) {
      if (value === '') cookies.delete(name);
      else cookies.set(name, value);
    }
    return response;
  };
  return {
    cookies,
    send,
    logIn: (username: string, password: string) =>
      send('POST /session/', { payload: { username, password } }),
  };
};

type Fields = Record<string, string>;
type FormRequest = { fields?: Fields; headers?: Record<string, string> };
type Form = { action: string; fields: Fields };
export type Page = Awaited<ReturnType<ReturnType<typeof createVisitor>['get']>>;

const DEFAULT_HOST = 'localhost:8000';

/** A minimal browser: keeps cookies, submits the forms of the current page, and does not follow redirects. */
export const createVisitor = ({ server }: Pick<App, 'server'>, host = DEFAULT_HOST) => {
  const jar = new Map<string, string>();
  let currentForms: Form[] = [];

  const send = async (
    method: 'GET' | 'HEAD' | 'POST',
    url: string,
    { fields, headers }: FormRequest = {},
  ) => {
    const response = await server.inject({
      method,
      url,
      headers: {
        host,
        accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
        cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; '),
        ...(method === 'POST' && { origin: `http://${host}`, 'sec-fetch-site': 'same-origin' }),
        ...(fields && { 'content-type': 'application/x-www-form-urlencoded' }),
        ...headers,
      },
      ...(fields && { payload: new URLSearchParams(fields).toString() }),
    });
    for (const { name, value } of response.cookies) {
      if (value === '') jar.delete(name);
      else jar.set(name, value);
    }
    currentForms = parseForms(response.body);
    const { statusCode: status, body, headers: received } = response;
    return {
      status,
      body,
      headers: received,
      location: received.location,
      forms: currentForms,
      text: visibleText(body),
    };
  };

  return {
    jar,
    get: (url: string, sent?: FormRequest) => send('GET', url, sent),
    head: (url: string) => send('HEAD', url),
    /** Posts exactly these fields, independent of the current page. */
    post: (url: string, fields: Fields, headers?: Record<string, string>) =>
      send('POST', url, { fields, ...(headers && { headers }) }),

    /** Fills in and submits the first form of the current page whose action starts with `action`. */
    submit: (action: string, fields: Fields = {}) => {
      const form = currentForms.find((each) => each.action.startsWith(action));
      if (!form)
        throw new Error(`No form has the action ${action}, only: ${currentForms.map((each) => each.action)}`);
      return send('POST', form.action, { fields: { ...form.fields, ...fields } });
    },
  };
};

const parseForms = (body: string): Form[] =>
  [...body.matchAll(/<form\b([^>]*)>(.*?)<\/form>/gs)].map(([, tag = '', content = '']) => ({
    action: attribute(tag, 'action') ?? '',
    fields: Object.fromEntries(
      [...content.matchAll(/<input\b([^>]*)>/g)].flatMap(([, input = '']) => {
        const name = attribute(input, 'name');
        return name === undefined ? [] : [[name, attribute(input, 'value') ?? '']];
      }),
    ),
  }));

const attribute = (tag: string, name: string): string | undefined => {
  const [, value] = new RegExp(`\\b${name}="([^"]*)"`).exec(tag) ?? [];
  return value === undefined ? undefined : unescapeHtml(value);
};

/** The visible text of a page: without tags and styles, with single spaces. */
const visibleText = (body: string): string =>
  unescapeHtml(body.replace(/<style>.*<\/style>/s, '').replaceAll(/<[^>]*>/g, ' '))
    .replaceAll(/\s+/g, ' ')
    .trim();

const unescapeHtml = (text: string): string =>
  text.replaceAll(/&(lt|gt|quot|#39|amp);/g, (_entity, name: string) => CHARACTERS[name] ?? '');

const CHARACTERS: Record<string, string> = { lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' };

export type RecordedRequest = { method: string; path: string; headers: Headers; body: string };

/** A `fetch` that records requests, and keeps cookies as a browser does. */
export const createRecordedFetch = () => {
  const requests: RecordedRequest[] = [];
  const cookies = new Map<string, string>();
  const send: Send = async (url, init) => {
    const headers = new Headers(init?.headers);
    if (cookies.size > 0) headers.set('cookie', [...cookies].map((pair) => pair.join('=')).join('; '));
    const path = url.replace(/^https?:\/\/[^/]+/, '');
    requests.push({ method: init?.method ?? 'GET', path, headers, body: String(init?.body ?? '') });
    const response = await fetch(url, { ...init, headers });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      if (value === '') cookies.delete(name);
      else cookies.set(name, value);
    }
    return response;
  };
  return { send, requests, cookies };
};

export type RawResponse = { status: number; head: string; body: string };

/** Sends bytes to the service unchanged, on a connection that stays open, and returns the response. */
export const sendBytes = async (app: TestApp, bytes: string): Promise<RawResponse> => {
  const socket = connect(Number(new URL(await addressOf(app)).port), '127.0.0.1');
  try {
    await once(socket, 'connect');
    socket.write(bytes);
    let received = '';
    for await (const chunk of socket) {
      received += chunk;
      const response = parse(received);
      if (response) return response;
    }
    throw new Error(`The connection was closed after ${JSON.stringify(received)}.`);
  } finally {
    socket.destroy();
  }
};

/** A response, or null while it is incomplete. */
const parse = (text: string): RawResponse | null => {
  const end = text.indexOf('\r\n\r\n');
  if (end === -1) return null;
  const head = text.slice(0, end);
  const body = text.slice(end + 4);
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1]);
  if (/^transfer-encoding: chunked$/im.test(head)) {
    return /(^|\r\n)0\r\n\r\n$/.test(body) ? { status, head, body: joinChunks(body) } : null;
  }
  const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
  return Buffer.byteLength(body) >= length ? { status, head, body } : null;
};

/** The content of a chunked ASCII body. */
const joinChunks = (body: string): string => {
  const [, size = '0', rest = ''] = /^([0-9a-f]+)\r\n(.*)$/is.exec(body) ?? [];
  const length = Number.parseInt(size, 16);
  return length === 0 ? '' : rest.slice(0, length) + joinChunks(rest.slice(length + 2));
};

/** Sends bytes to the service unchanged, and returns what it sends until it closes the connection. */
export const sendRaw = async (app: TestApp, bytes: string): Promise<string> => {
  const socket = connect(Number(new URL(await addressOf(app)).port), '127.0.0.1');
  await once(socket, 'connect');
  socket.write(bytes);
  return text(socket);
};
