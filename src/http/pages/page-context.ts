import type { FastifyReply } from 'fastify';
import { createCaller } from '../../../routers/index.ts';
import { problemOf } from '../../../routers/middleware/errors.ts';
import { type Html, html } from '../../lib/html.ts';
import { isFault, type Problem } from '../../lib/problems.ts';
import { acceptsSecureCookies } from '../gate/embed-cookie.ts';
import { CSRF_FIELD } from '../middleware/credentials.ts';
import { type ContextDeps, contextOf, lookUpCaller } from '../middleware/request-context.ts';
import { type Page, sendPage } from './page-layout.ts';
import { alertBox, hiddenField } from './parts.ts';

export type Caller = ReturnType<typeof createCaller>;
export type PageContext = ReturnType<typeof createPageContext>;
/** Handlers by method and path: `GET /login/`. */
export type Pages = Readonly<Record<string, (context: PageContext) => Promise<FastifyReply>>>;

/** A page with the branding of the client whose site received the request, unless other branding is given. */
type BrandedPage = Omit<Page, 'brand'> & Partial<Pick<Page, 'brand'>>;

type FormPage = Omit<BrandedPage, 'content'> & {
  /** Default: the title. */
  heading?: string;
  lead?: string;
  /** The path to which the form is sent. */
  action: string;
  /** Values to send with the fields of the body. */
  hidden?: Readonly<Record<string, string | null>>;
  body: Html;
  /** The error above the fields, if it is not `problem`. */
  alert?: Problem | null;
  /** Shown below the form. */
  help?: string;
};

/** The request for a page, and functions with which pages and their forms call procedures. */
export const createPageContext = (reply: FastifyReply, deps: ContextDeps) => {
  const { request } = reply;
  const context = contextOf(request, deps);
  // Does not check the CSRF token, so that a page can show users their own data even after that check failed for a form.
  const findActor = () => lookUpCaller(request, deps);
  const reader: Caller = createCaller({ ...context, findActor });
  // Issued once per request: a second token would replace the first in the cookie and invalidate its form.
  let csrfToken: string | undefined;
  let branding: ReturnType<Caller['branding']['get']> | undefined;
  /** The branding of the client whose site received the request. */
  const getBranding = () => {
    branding ??= reader.branding.get({});
    return branding;
  };
  const currentSession = async () => (await attempt(() => reader.sessions.current({}))).value;
  const send = async (page: BrandedPage) =>
    sendPage(reply, { ...page, brand: page.brand ?? (await getBranding()) });
  const csrfField = (): Html => {
    csrfToken ??= deps.csrf.issue(request, reply);
    return hiddenField(CSRF_FIELD, csrfToken);
  };
  return {
    request,
    reply,
    isSecure: acceptsSecureCookies(deps.baseUrl),
    baseUrl: deps.baseUrl,
    /** Whether passkeys work on the requested host. */
    passkeysWork: () => context.openServices().passkeys.workAt(context.host),
    /** The kinds of second factors that complete the login that waits in this browser; null if none waits. */
    challengeKinds: async () => {
      const { value: token } = context.browser.challenge;
      if (token === null) return null;
      const { logins } = context.openServices();
      return (await attempt(() => logins.readChallenge(token))).value?.kinds ?? null;
    },
    browser: context.browser,
    /** For actions that no procedure does. */
    openServices: () => context.openServices(),
    getBranding,
    /** Calls the queries whose results the page shows. */
    reader,

    csrfField,

    /** Checks the CSRF token of the form, then runs a mutation. */
    submit: <T>(mutate: (caller: Caller) => Promise<T>): Promise<Outcome<T>> =>
      attempt(async () => {
        deps.csrf.check(request);
        return mutate(createCaller(context));
      }),

    /** The logged-in user, or null. */
    currentUser: async () => (await currentSession())?.user ?? null,
    currentSession,
    /** The caller; the CSRF token is not checked. */
    currentActor: findActor,
    /** Ends the session of this browser. The CSRF token is not checked. */
    logOut: () => reader.sessions.end({}),

    sendPage: send,
    /** Sends a page that contains only a title and a card. */
    sendCard: ({ body, ...page }: Omit<BrandedPage, 'content'> & { body: Html }) =>
      send({ ...page, content: html`<h1>${page.title}</h1>\n<div class="card">\n${body}\n</div>` }),

    /** Sends a page that contains only a title and a form. */
    sendForm: ({ heading, lead = '', action, hidden = {}, body, alert, help = '', ...page }: FormPage) => {
      const { title, problem = null } = page;
      const content = html`<h1>${heading ?? title}</h1>
${lead !== '' && html`<p class="lead">${lead}</p>`}
<form class="card" method="post" action="${action}">
${alertBox(alert === undefined ? problem : alert)}
${csrfField()}
${Object.entries(hidden).map(([name, value]) => value !== null && hiddenField(name, value))}
${body}
</form>
${help !== '' && html`<p class="lead">${help}</p>`}`;
      return send({ ...page, content });
    },

    /** The rules for a new password of this user. */
    passwordRules: async (email: string) => (await reader.passwords.check({ password: '', email })).rules,
  };
};

type Outcome<T> = { value: T; problem: null } | { value: null; problem: Problem };

/** Runs a call and returns its value or the problem that the page reports. Other errors are thrown. */
export const attempt = async <T>(call: () => Promise<T>): Promise<Outcome<T>> => {
  try {
    return { value: await call(), problem: null };
  } catch (error) {
    const problem = problemOf(error);
    if (isFault(problem)) throw error;
    return { value: null, problem };
  }
};

/** Whether the form itself was rejected (expired or cross-site), not its input. Nothing was changed; a new form works. */
export const isFormRejected = (problem: Problem | null): boolean =>
  problem?.code === 'csrf-failed' || problem?.code === 'cross-site';

/** A field of the submitted form; empty if it is missing. */
export const formField = ({ request }: PageContext, name: string): string =>
  stringProperty(request.body, name) ?? '';

/** Several fields of the submitted form. */
export const formFields = <Names extends string[]>(context: PageContext, ...names: Names) =>
  names.map((name) => formField(context, name)) as { [N in keyof Names]: string }; // one for each name

export const queryParameter = ({ request }: PageContext, name: string): string | undefined =>
  stringProperty(request.query, name);

export const pathParameter = ({ request }: PageContext, name: string): string =>
  stringProperty(request.params, name) ?? '';

const stringProperty = (values: unknown, name: string): string | undefined => {
  if (typeof values !== 'object' || values === null || !Object.hasOwn(values, name)) return undefined;
  const value: unknown = Reflect.get(values, name);
  return typeof value === 'string' ? value : undefined;
};
