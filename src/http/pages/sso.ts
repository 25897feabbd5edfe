import type { FastifyReply } from 'fastify';
import { html } from '../../lib/html.ts';
import { isFault, Problem, type ProblemCode } from '../../lib/problems.ts';
import { originOf } from '../../lib/urls.ts';
import type { Services } from '../../services/index.ts';
import type { TestedLogin } from '../../services/sso/connection-tests.ts';
import type { SsoFailure } from '../../services/sso/failures.ts';
import type { SsoResult } from '../../services/sso/provider-logins.ts';
import { logFault } from '../middleware/request-logger.ts';
import {
  attempt,
  formField,
  type PageContext,
  type Pages,
  pathParameter,
  queryParameter,
} from './page-context.ts';
import { codePath, enrolPath, homeUrl, localPath, redirectTo } from './page-layout.ts';

/** Enough time for all pages of the provider. */
const COOKIE_MINUTES = 60;

/** The path to which providers redirect browsers. */
export const CALLBACK_PATH = '/sso/:id/callback/';

/** `/sso/{connection}/…`: logins with the identity provider of a client. */
export const ssoPages: Pages = {
  'GET /sso/:id/start/': (context) =>
    answering(context, async () => {
      // An image or a frame of another site: each start counts against a limit, and no person sees it.
      if (isEmbedded(context)) throw new Problem('cross-site');
      const kind = kindOf(context);
      const next = localPath(queryParameter(context, 'next'));
      // A link on another site or in a mail must not replace the logged-in person with its author. Old browsers do not send the site.
      const site = siteOf(context);
      const isFromElsewhere = site !== undefined && site !== 'same-origin';
      // An admin may paste the address of a test. A test that another site starts would prove nothing.
      const isPastedTest = kind === 'test' && site === 'none';
      if (isFromElsewhere && !isPastedTest && (await context.currentActor()))
        return redirectTo(context.reply, next ?? (await homeOf(context)));
      return startLogin(context, { connectionId: connectionOf(context), kind, next, email: null });
    }),

  [`GET ${CALLBACK_PATH}`]: (context) =>
    answering(context, async () => {
      if (isEmbedded(context)) throw new Problem('cross-site');
      const { browser, request } = context;
      const result = await context.openServices().ssoLogins.complete({
        connectionId: connectionOf(context),
        query: request.url.split('?')[1] ?? '',
        browser: browser.sso.value,
        userAgent: browser.userAgent,
        actor: await context.currentActor(),
      });
      return finish(context, result);
    }),

  // After a logout here, which does not end the session at the provider. Only redirects: it needs no session, and changes nothing here.
  'GET /sso/:id/logout/': async (context) => {
    requireOwnForm(context);
    const url = await context.openServices().ssoLogouts.findUrlAtProvider(connectionOf(context));
    return url === null
      ? redirectTo(context.reply, '/login/?kept=1')
      : redirectTo(context.reply, url, 'no-referrer');
  },

  // Called by providers (OpenID Connect Back-Channel Logout 1.0 §2.5 to §2.8).
  'POST /sso/:id/backchannel-logout/': async (context) => {
    const token = formField(context, 'logout_token');
    const { ssoLogouts } = context.openServices();
    const { problem } = await attempt(() => ssoLogouts.byToken(connectionOf(context), token));
    if (!problem) return context.reply.code(200).send();
    const description = { error: 'invalid_request', error_description: problem.message };
    return context.reply.code(400).send(description);
  },

  // Shown by providers in a frame of their own page (OpenID Connect Front-Channel Logout 1.0 §2).
  'GET /sso/:id/frontchannel-logout/': (context) =>
    answering(context, async () => {
      const issuer = queryParameter(context, 'iss') ?? '';
      const sid = queryParameter(context, 'sid') ?? '';
      await context.openServices().ssoLogouts.bySession(connectionOf(context), issuer, sid);
      return context.sendCard({
        title: 'Logged out',
        body: html`<p>You have been logged out.</p>`,
        frameAncestors: [originOf(new URL(issuer).origin)].filter((origin) => origin !== null),
      });
    }),
};

/** Whether the request is not a page for a person, but an image, a frame, or a request of a script. */
const isEmbedded = ({ request }: PageContext): boolean => {
  const destination = request.headers['sec-fetch-dest'];
  return destination !== undefined && destination !== 'document';
};

/** The site of the link that led here. Old browsers do not send it. */
const siteOf = ({ request }: PageContext) => request.headers['sec-fetch-site'];

/** Values of `siteOf` for links on other hosts. */
const OTHER_SITES: readonly unknown[] = ['cross-site', 'same-site'];

/** Another site must not start a login: a login counts against a limit, and replaces the logged-in user. @throws Problem `cross-site` */
export const requireOwnForm = (context: PageContext): void => {
  if (isEmbedded(context) || OTHER_SITES.includes(siteOf(context))) throw new Problem('cross-site');
};

const kindOf = (context: PageContext) => {
  if (queryParameter(context, 'test') !== undefined) return 'test';
  return queryParameter(context, 'confirm') === undefined ? 'login' : 'confirm';
};

/** No connection has the id 0. */
const connectionOf = (context: PageContext): number => {
  const id = pathParameter(context, 'id');
  return /^\d{1,9}$/.test(id) ? Number(id) : 0;
};

type Start = Pick<Parameters<Services['ssoLogins']['start']>[0], 'connectionId' | 'kind' | 'next' | 'email'>;

/** Sends the browser to the provider. */
export const startLogin = async (context: PageContext, start: Start): Promise<FastifyReply> => {
  const { sso } = context.browser;
  const actor = start.kind === 'test' ? await context.currentActor() : null;
  const { ssoLogins } = context.openServices();
  const started = await ssoLogins.start({ ...start, actor, browser: sso.value });
  sso.keep(started.browser, COOKIE_MINUTES);
  return redirectTo(context.reply, started.url, 'no-referrer');
};

const finish = async (context: PageContext, result: SsoResult): Promise<FastifyReply> => {
  const { browser, reply } = context;
  if (result.kind === 'test') return sendTest(context, result.test);
  // From now on, the browser belongs to this person: the session of another one, or a login that waits for a code, ends.
  const opened = result.kind === 'challenge' ? null : result.session;
  if (browser.session !== null) await context.openServices().sessions.replace(browser.session, opened);
  if (result.kind === 'challenge') {
    browser.forgetSession();
    browser.challenge.keep(result.challenge, result.minutes);
    return redirectTo(reply, result.step === 'code' ? codePath(result.next) : enrolPath(result.next));
  }
  browser.keepSession(result.session);
  return redirectTo(reply, result.next ?? (await homeOf(context)));
};

const homeOf = async (context: PageContext): Promise<string> =>
  homeUrl((await context.getBranding()).home_location);

/** Sends a page for a failure: what happened, and what to do. */
export const answering = async (
  context: PageContext,
  work: () => Promise<FastifyReply>,
): Promise<FastifyReply> => {
  try {
    return await work();
  } catch (problem) {
    const title = problem instanceof Problem && TITLES[problem.code];
    if (!title) throw problem;
    if (isFault(problem)) logFault(context.request, problem);
    const { tested = null } = problem as Partial<SsoFailure>;
    const body = html`<p>${problem.message}</p>
${
  tested
    ? html`<p><a class="button" href="${settingsPath(tested)}">Back to the settings</a></p>`
    : html`<p><a class="button" href="/login/">Start again</a></p>
<p class="aside"><a href="/login/?method=password">Log in with a password</a></p>`
}`;
    return context.sendCard({ title, body, problem });
  }
};

const TITLES: Partial<Record<ProblemCode, string>> = {
  'sso-failed': 'Single sign-on failed',
  'provider-unavailable': 'Your identity provider does not answer',
  throttled: 'Too many attempts',
};

/** Shows what a login would do to the admin who tests a connection. */
const sendTest = async (
  context: PageContext,
  { connection, claims, stated, decision, refusal }: TestedLogin,
) => {
  const rows = Object.entries(claims).map(
    ([name, value]) => html`<dt>${name}</dt>\n<dd><code>${textOf(value)}</code></dd>\n`,
  );
  const groups = groupsOf(stated, connection);
  const content = html`
<h1>Test of ${connection.name}</h1>
<p class="lead">The provider has logged you in. Nothing was changed.</p>
<div class="card">
<h2>A login would do this</h2>
<p>${refusal === null ? outcomeOf(decision) : `Refuse the login. ${refusal}`}</p>
${groups !== null && html`<p>${groups}</p>`}
${stated.email === null && html`<p>The claim <code>${connection.email_claim}</code> has no email address, so the connection cannot be used yet.</p>`}
<p><a class="button" href="${settingsPath(connection)}">Back to the settings</a></p>
</div>
<h2>Claims</h2>
<dl class="card claims">${rows}</dl>`;
  return context.sendPage({ title: `Test of ${connection.name}`, content });
};

/** Where the console shows a connection; one that is not active, at the step of its set-up. */
const settingsPath = ({ id, client, is_active: isActive }: NonNullable<SsoFailure['tested']>): string => {
  if (client === null) return '/console/';
  return `/console/clients/${client}?tab=sign-in${isActive ? '' : `#set-up-${id}`}`;
};

const outcomeOf = (decision: TestedLogin['decision']): string => {
  switch (decision.kind) {
    case 'log-in':
      return `Log in ${decision.user.email}, who is connected already.`;
    case 'link':
      return `Connect and log in ${decision.user.email}${JOINING[decision.joins ?? 'member']}.`;
    case 'accept-invitation':
      return `Accept the invitation of ${decision.email} and create the account.`;
    case 'create':
      return `Create an account for ${decision.email}.`;
    case 'refuse':
      return 'Refuse the login.';
  }
};

const JOINING = {
  member: '',
  invitation: ', who accepts the invitation',
  provision: ', who becomes a member',
};

const groupsOf = (
  { groups }: TestedLogin['stated'],
  { group_mapping: mapping, groups_claim: claim }: TestedLogin['connection'],
) => {
  if (claim === '') return null;
  if (groups === null) return 'The provider does not state groups. Groups would stay as they are.';
  const matched = mapping.filter((mapped) => groups.includes(mapped.claim));
  return `Of ${groups.length} stated groups, ${matched.length} are mapped${matched.length > 0 ? `: ${matched.map((mapped) => mapped.claim).join(', ')}` : ''}.`;
};

const MAX_TEXT = 500;

const textOf = (value: unknown): string =>
  (typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).slice(0, MAX_TEXT);
