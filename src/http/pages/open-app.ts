import type { FastifyRequest } from 'fastify';
import { formatDateTime, type Html, html, maintenanceNotice } from '../../lib/html.ts';
import { notFound, Problem, type ProblemCode } from '../../lib/problems.ts';
import { leadsToApi } from '../../lib/urls.ts';
import type { RefusedView } from '../../services/gate/view-opening.ts';
import { forgetEmbedSession, keepEmbedSession } from '../gate/embed-cookie.ts';
import { forgetLook } from '../gate/look-cookie.ts';
import { sendProblem } from '../rest/problem-document.ts';
import { logoutForm } from './login.ts';
import {
  attempt,
  formField,
  type PageContext,
  type Pages,
  pathParameter,
  queryParameter,
} from './page-context.ts';
import { loginPath, mailLink, redirectTo, stepUpPath, TO_ANY_SITE } from './page-layout.ts';
import { alertBox, userMessage } from './parts.ts';
import { launchLook } from './view-as.ts';

/** `/v/{key}/` opens the app of an access view. */
export const accessViewPages: Pages = {
  'GET /v/:key/': async (context) => {
    const { request, reply } = context;
    // Neither looks up the key nor counts a use.
    if (isAutomatic(request)) return reply.code(emptyStatus(request)).send();
    if (!/text\/html/i.test(request.headers.accept ?? ''))
      return sendProblem(reply, new Problem('not-acceptable', { detail: NO_BROWSER }));
    // A page of an app is no mail that a scanner reads, and a click in each frame would be one too many.
    return openView(context, { isConfirmed: request.headers['sec-fetch-dest'] === 'iframe' });
  },

  // Without a CSRF token, so that it needs no cookies: everyone who has the key may open the app.
  'POST /v/:key/': (context) => openView(context, { isConfirmed: true }),
};

const openView = async (context: PageContext, { isConfirmed }: { isConfirmed: boolean }) => {
  const { request, reply } = context;
  const key = pathParameter(context, 'key');
  const userAgent = request.headers['user-agent'] ?? '';
  const visitor = await context.currentActor().catch(() => null);
  const { viewOpening } = context.openServices();
  const { value, problem } = await attempt(() => viewOpening.open({ key, userAgent, visitor, isConfirmed }));
  if (problem)
    return context.sendCard({
      title: problem.status === 404 ? 'Invalid link' : 'This link cannot be opened now',
      body: html`<p>${problem.status === 404 ? UNKNOWN : userMessage(problem)}</p>`,
      problem,
    });
  if ('location' in value) {
    keepEmbedSession(reply, value.appSlug, value.session, context.isSecure);
    return redirectTo(reply, value.location, 'no-referrer');
  }
  return sendRefusal(context, value);
};

const UNKNOWN =
  'The link may be incomplete. Copy the whole link, or ask the person who gave it to you for a new one.';

const PREFETCH_HEADERS = ['purpose', 'sec-purpose', 'x-purpose', 'x-moz'];
const PREFETCH = /prefetch|prerender|preview/i;
/** Programs that identify themselves: crawlers, and messengers that show a preview of a link. Cubot is a brand of phones. */
const BOT = /(?<!\bcu)bot\b|crawler|spider|preview|externalhit|^whatsapp/i;

const isPrefetch = ({ headers }: FastifyRequest): boolean =>
  PREFETCH_HEADERS.some((name) => PREFETCH.test(String(headers[name] ?? '')));

const NO_BROWSER =
  'This link opens an app in a browser: send `Accept: text/html`. The app was not opened, and no use was counted.';

/** Whether the link was opened by a mail scanner, a preview, a prefetch or the content of a page, not by a person. */
const isAutomatic = (request: FastifyRequest): boolean => {
  const { method, headers } = request;
  const mode = headers['sec-fetch-mode'] ?? 'navigate';
  return (
    method !== 'GET' || mode !== 'navigate' || isPrefetch(request) || BOT.test(headers['user-agent'] ?? '')
  );
};

/**
 * Only an error makes a browser discard a prefetched response and send the request again when the person opens the link. After a 204,
 * Chrome would do nothing.
 */
const emptyStatus = (request: FastifyRequest): number => {
  if (isPrefetch(request)) return 403;
  return request.method === 'HEAD' ? 200 : 204;
};

const timesOf = ({ allowedUses }: RefusedView) => (allowedUses > 1 ? `${allowedUses} times` : 'once');

const sendRefusal = async (context: PageContext, view: RefusedView) => {
  const { client_name, support_email, embed_origins } = view;
  const { title, status, text } = await describe(context, view);
  const body = html`${text}
${support_email !== '' && html`<p>Questions? Contact ${mailLink(support_email)}.</p>`}`;
  const brand = { client_name, support_email: '' };
  const formAction = TO_ANY_SITE;
  return context.sendCard({ brand, title, body, status, formAction, frameAncestors: embed_origins });
};

type Description = { title: string; status: number; text: Html };

const describe = async (context: PageContext, view: RefusedView): Promise<Description> => {
  const { refusal, client_name: client, app_label: app } = view;
  const say = (status: number, title: string, text: string) => ({
    title,
    status,
    text: html`<p>${text}</p>`,
  });
  const expiry = formatDateTime(view.expiresAt ?? new Date(0));
  switch (refusal) {
    case 'unconfirmed':
      return { title: `Open ${app}`, status: 200, text: confirmation(context, view) };
    case 'revoked':
      return say(410, 'This link was revoked', `${client} has deactivated it. Ask them for a new one.`);
    case 'expired':
      return say(410, 'This link has expired', `It was valid until ${expiry}. Ask ${client} for a new one.`);
    case 'used-up':
      return say(
        410,
        'This link was already used',
        `It could be opened ${timesOf(view)}. Ask ${client} for a new one.`,
      );
    case 'wrong-network':
      return say(
        403,
        'This link does not work in your network',
        `${client} allows it in other networks only.`,
      );
    case 'no-address':
      return say(
        404,
        `${app} cannot be opened yet`,
        `It has no address yet. Ask ${client} when it will be ready.`,
      );
    case 'needs-factor':
      return { title: `Log in to open ${app}`, status: 403, text: loginForView(context, view) };
    case 'client-closed':
      return say(403, 'This app is closed', `${client} has closed its apps.`);
    case 'attributes-invalid':
      return say(403, 'This link is not set up yet', `${client} must correct what it shows of ${app}.`);
    case 'user-inactive':
    case 'not-granted':
      return say(403, 'This link no longer works', `Its user no longer has access to ${app}.`);
    case 'in-maintenance': {
      const { title, body } = await maintenanceNotice(app, view.maintenance_message, view.maintenance_until);
      return { title, status: 503, text: body };
    }
  }
};

/** Mail scanners follow links, even with a whole browser, but they submit no forms. */
const confirmation = ({ request }: PageContext, view: RefusedView): Html =>
  html`<p>This link of ${view.client_name} can be opened ${timesOf(view)}.</p>
<form method="post" action="${request.url}"><button>Open ${view.app_label}</button></form>`;

/**
 * The link opens the app as a person for whom the client requires a second factor. The visitor may be logged in already, or be another
 * person.
 */
const loginForView = (
  context: PageContext,
  { client_name: client, loginStep, visitor }: RefusedView,
): Html => {
  const { url } = context.request;
  const intro = html`<p>${client} requires a second factor of the person for whom this link was made.</p>`;
  if (visitor === 'other')
    return html`${intro}<p>You are logged in as another person.</p>${logoutForm(context, { next: url })}`;
  const path = visitor === null || loginStep === null ? loginPath(url) : stepUpPath(loginStep, url);
  return html`${intro}<p><a class="button" href="${path}" target="_top">Log in</a></p>`;
};

/**
 * `/launch/{app_slug}/` opens an app for the user of the browser session, who logs in first if needed. While they look at the app as someone,
 * it leads to the page about that.
 */
export const launchPages: Pages = {
  'GET /launch/:app_slug/': async (context) => {
    const app_slug = pathParameter(context, 'app_slug');
    const stack = queryParameter(context, 'stack');
    if (!(await context.currentUser())) return redirectTo(context.reply, loginPath(context.request.url));
    const looking = await launchLook(context, app_slug);
    if (looking) return looking;
    const state = queryParameter(context, 'state');
    const { value, problem } = await attempt(() => context.reader.apps.launch({ app_slug, stack, state }));
    if (value && leadsToApi(value.url))
      return sendLaunchRefusal(context, await describeMissingAddress(context, app_slug), notFound('app'));
    if (value) {
      forgetEmbedSession(context.reply, app_slug, context.isSecure);
      forgetLook(context.reply, app_slug, context.isSecure);
      return redirectTo(context.reply, value.url);
    }
    if (problem.loginStep !== undefined)
      return redirectTo(context.reply, stepUpPath(problem.loginStep, context.request.url));
    const refusal = await describeRefusal(context, app_slug, problem);
    if (refusal === null) throw problem;
    return sendLaunchRefusal(context, refusal, problem);
  },

  'POST /launch/:app_slug/ask/': async (context) => {
    const app = await findRequestable(context, pathParameter(context, 'app_slug'));
    if (!app) return redirectTo(context.reply, '/');
    const { problem } = await context.submit((caller) =>
      caller.requests.create({ app: app.id, reason: formField(context, 'reason') }),
    );
    const asking = problem && (await askForAccess(context, app.id, problem));
    return context.sendCard({
      title: asking ? 'You may not open this app yet' : 'You have asked for access',
      body:
        asking ??
        html`<p>${app.client_name} decides about it. You get a mail then.</p>
<p><a class="button" href="/">Go to the home page</a></p>`,
      problem,
    });
  },
};

/** A form that asks for the app, or what came of it; null for an app that the person cannot ask for. @param app its slug or id */
const askForAccess = async (
  context: PageContext,
  app: string,
  problem: Problem | null = null,
): Promise<Html | null> => {
  const found = await findRequestable(context, app);
  if (!found) return null;
  const { label, client_name: client, slug, is_pending: isPending } = found;
  if (isPending)
    return html`<p>You have asked for ${label}. ${client} has not decided yet: you get a mail then.</p>`;
  return html`<p>You do not have ${label}, but you may ask ${client} for it.</p>
<form method="post" action="/launch/${slug}/ask/">
${alertBox(problem)}
${context.csrfField()}
<label>Why you need it (optional)<input name="reason" maxlength="500"></label>
<button>Ask for access</button>
</form>`;
};

const findRequestable = async ({ reader }: PageContext, app: string) =>
  (await reader.requests.requestable({})).find(({ id, slug }) => id === app || slug === app);

const TITLES: Partial<Record<ProblemCode, string>> = {
  'attributes-invalid': 'This app is not set up for you',
  'client-closed': 'This app is closed',
};

type Refusal = { title: string; body: Html };

/** Why an app does not open, or a form that asks for access. Null if the person cannot ask for it. */
export const describeRefusal = async (
  context: PageContext,
  slug: string,
  problem: Problem,
): Promise<Refusal | null> => {
  if (problem.code === 'app-in-maintenance') {
    const { label, maintenance_message: message, maintenance_until: until } = await findStatus(context, slug);
    return maintenanceNotice(label, message, until);
  }
  const title = TITLES[problem.code];
  if (title !== undefined) return { title, body: html`<p>${problem.message}</p>` };
  const asking = await askForAccess(context, slug);
  return asking && { title: 'You may not open this app yet', body: asking };
};

const findApp = async ({ reader }: PageContext, slug: string) =>
  (await reader.apps.list({})).find((app) => app.slug === slug);

const findStatus = async (context: PageContext, slug: string) => {
  const app = await findApp(context, slug);
  return app
    ? context.reader.apps.status({ app_id: app.id })
    : { label: 'This app', maintenance_message: '', maintenance_until: null };
};

const describeMissingAddress = async (context: PageContext, slug: string): Promise<Refusal> => {
  const { label = 'This app' } = (await findApp(context, slug)) ?? {};
  const text = 'It has no address yet. Ask the person who invited you when it will be ready.';
  return { title: `${label} cannot be opened yet`, body: html`<p>${text}</p>` };
};

const sendLaunchRefusal = (context: PageContext, { title, body }: Refusal, problem: Problem) =>
  context.sendCard({
    title,
    body: html`${body}
<p><a class="button" href="/">Go to the home page</a></p>`,
    problem,
  });
