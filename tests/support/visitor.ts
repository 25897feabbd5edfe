import type { App } from '../../src/app.ts';

type Fields = Record<string, string>;
type Sent = { fields?: Fields; headers?: Record<string, string> };
type Form = { action: string; fields: Fields };
export type Page = Awaited<ReturnType<ReturnType<typeof createVisitor>['get']>>;

const DEFAULT_HOST = 'localhost:8000';

/** A minimal browser: keeps cookies, submits the forms of the current page, and does not follow redirects. */
export const createVisitor = ({ server }: Pick<App, 'server'>, host = DEFAULT_HOST) => {
  const jar = new Map<string, string>();
  let currentForms: Form[] = [];

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
    get: (url: string, sent?: Sent) => send('GET', url, sent),
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
