import type { App } from '../../src/app.ts';

type Fields = Record<string, string>;
type Sent = { fields?: Fields; headers?: Record<string, string> };
type Form = { action: string; fields: Fields };
export type Page = Awaited<ReturnType<ReturnType<typeof createVisitor>['get']>>;

const DEFAULT_HOST = 'localhost:8000';

/** Somebody with a browser that keeps cookies, shows nothing, follows no redirect, and sends the forms it was given. */
export const createVisitor = ({ server }: Pick<App, 'server'>, host = DEFAULT_HOST) => {
  const jar = new Map<string, string>();
  let shown: Form[] = [];

  const send = async (method: 'GET' | 'HEAD' | 'POST', url: string, { fields, headers }: Sent = {}) => {
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
    shown = formsIn(response.body);
    const { statusCode: status, body, headers: received } = response;
    return { status, body, headers: received, location: received.location, forms: shown, text: textIn(body) };
  };

  return {
    jar,
    get: (url: string, sent?: Sent) => send('GET', url, sent),
    head: (url: string) => send('HEAD', url),
    /** Sends just these fields, whatever page is shown. */
    post: (url: string, fields: Fields, headers?: Record<string, string>) =>
      send('POST', url, { fields, ...(headers && { headers }) }),

    /** Fills in a form of the page that is shown, the first one that leads there, and sends it. */
    submit: (action: string, fields: Fields = {}) => {
      const form = shown.find((each) => each.action.startsWith(action));
      if (!form) throw new Error(`No form leads to ${action}, only to ${shown.map((each) => each.action)}`);
      return send('POST', form.action, { fields: { ...form.fields, ...fields } });
    },
  };
};

const formsIn = (body: string): Form[] =>
  [...body.matchAll(/<form\b([^>]*)>(.*?)<\/form>/gs)].map(([, tag = '', inside = '']) => ({
    action: attribute(tag, 'action') ?? '',
    fields: Object.fromEntries(
      [...inside.matchAll(/<input\b([^>]*)>/g)].flatMap(([, input = '']) => {
        const name = attribute(input, 'name');
        return name === undefined ? [] : [[name, attribute(input, 'value') ?? '']];
      }),
    ),
  }));

const attribute = (tag: string, name: string): string | undefined => {
  const [, value] = new RegExp(`\\b${name}="([^"]*)"`).exec(tag) ?? [];
  return value === undefined ? undefined : unescaped(value);
};

/** What a person reads of a page: no tags, no style, single spaces. */
const textIn = (body: string): string =>
  unescaped(body.replace(/<style>.*<\/style>/s, '').replaceAll(/<[^>]*>/g, ' '))
    .replaceAll(/\s+/g, ' ')
    .trim();

const unescaped = (text: string): string =>
  text.replaceAll(/&(lt|gt|quot|#39|amp);/g, (_whole, name: string) => CHARACTERS[name] ?? '');

const CHARACTERS: Record<string, string> = { lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' };
