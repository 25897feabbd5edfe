import type { FastifyReply } from 'fastify';
import { html } from '../../lib/html.ts';
import { isFault, Problem, type ProblemCode } from '../../lib/problems.ts';
import { originOf } from '../../lib/urls.ts';
import type { Services } from '../../services/index.ts';
import type { TestedLogin } from '../../services/sso/connection-tests.ts';
import type { SsoResult } from '../../services/sso/provider-logins.ts';
import { logFault } from '../middleware/request-logger.ts';
import {
  attempt,
  formField,
  formFields,
  type PageContext,
  type Pages,
  pathParameter,
  queryParameter,
} from './page-context.ts';
import { codePath, enrolPath, formActionSources, homeUrl, localPath, redirectTo } from './page-layout.ts';
import { currentPasswordField, hiddenUsername, inputField } from './parts.ts';

/** Enough for a chain of pages of the provider. */
const COOKIE_MINUTES = 60;

/** Where providers send browsers. */
export const CALLBACK_PATH = '/sso/:id/callback/';

/** `/sso/{connection}/…`: logins with the identity provider of a client. */
export const ssoPages: Pages = {
  'GET /sso/:id/start/': (context) =>
    answering(context, async () => {
      // An image or a frame of another site: each start counts, and a person sees none of it.
      if (isEmbedded(context)) throw new Problem('cross-site');
      const kind = kindOf(context);
      const next = localPath(queryParameter(context, 'next'));
      // A link on another site, or in a mail, must not replace the person who is logged in by its author. Old browsers do not say where it was.
      const site = siteOf(context);
      const isFromElsewhere = site !== undefined && site !== 'same-origin';
      // An admin can paste the address of a test. One whom another site sends there has tested nothing.
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

  'GET /sso/link/': (context) =>
    answering(context, () => sendLink(context, queryParameter(context, 'state') ?? '')),

  'POST /sso/link/': (context) =>
    answering(context, async () => {
      const { browser } = context;
      const [state, code, password] = formFields(context, 'state', 'code', 'password');
      const { value, problem } = await context.submit(() =>
        context.openServices().accountLinks.link({
          state,
          browser: browser.sso.value,
          password,
          code: code === '' ? undefined : code,
          userAgent: browser.userAgent,
        }),
      );
      if (!problem) return finish(context, value);
      // The login itself is over, not this attempt.
      if (problem.code === 'sso-failed') throw problem;
      return sendLink(context, state, problem);
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

/** Whether the page is not for the person, but an image, a frame, or a request of a script. */
const isEmbedded = ({ request }: PageContext): boolean => {
  const destination = request.headers['sec-fetch-dest'];
  return destination !== undefined && destination !== 'document';
};

/** Where the link was that led here. Old browsers do not say it. */
const siteOf = ({ request }: PageContext) => request.headers['sec-fetch-site'];

/** Values of `siteOf` for links on other hosts. */
const OTHER_SITES: readonly unknown[] = ['cross-site', 'same-site'];

/** Another site must not start a login, which counts and replaces the one who is logged in. @throws Problem `cross-site` */
export const requireOwnForm = (context: PageContext): void => {
  if (isEmbedded(context) || OTHER_SITES.includes(siteOf(context))) throw new Problem('cross-site');
};

const kindOf = (context: PageContext) => {
  if (queryParameter(context, 'test') !== undefined) return 'test';
  return queryParameter(context, 'confirm') === undefined ? 'login' : 'confirm';
};

/** 0 is the id of no connection. */
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
  if (result.kind === 'link')
    return redirectTo(reply, `/sso/link/?${new URLSearchParams({ state: result.state })}`);
  // The browser goes on as this person only, also if another one was logged in, or their login waited for a code.
  if (browser.session !== null) await context.openServices().sessions.replace(browser.session);
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

/** Sends one page for each failure: what happened, and what to do. */
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
    const body = html`<p>${problem.message}</p>
<p><a class="button" href="/login/">Start again</a></p>
<p class="aside"><a href="/login/?method=password">Log in with a password</a></p>`;
    return context.sendCard({ title, body, problem });
  }
};

const TITLES: Partial<Record<ProblemCode, string>> = {
  'sso-failed': 'Single sign-on failed',
  'provider-unavailable': 'Your identity provider does not answer',
  throttled: 'Too many attempts',
};

/** Asks for the password of the account that the provider has found, once. */
const sendLink = async (
  context: PageContext,
  state: string,
  problem: Problem | null = null,
): Promise<FastifyReply> => {
  const link = await context.openServices().accountLinks.readLink(state, context.browser.sso.value);
  const { home_location } = await context.getBranding();
  const isCodeWrong = problem?.code === 'invalid-otp';
  return context.sendForm({
    title: 'Connect your account',
    lead: `You have an account as ${link.email}. Enter its password once; afterwards you log in with ${link.name}.`,
    action: '/sso/link/',
    problem,
    hidden: { state },
    body: html`${hiddenUsername(link.email)}
${currentPasswordField({ label: 'Password', errors: problem?.fields?.password, isFocused: !isCodeWrong })}
${
  link.hasSecondFactor &&
  inputField({
    name: 'code',
    label: 'Code of your authenticator app, or a recovery code',
    autocomplete: 'one-time-code',
    errors: problem?.fields?.code,
    isFocused: isCodeWrong,
  })
}
<button>Connect and log in</button>
<p class="aside"><a href="/password/reset/">Forgot your password?</a></p>`,
    formAction: formActionSources(link.next ?? homeUrl(home_location)),
  });
};

/** Shows what a login would do, to the admin who tests a connection. */
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
<p><a class="button" href="/console/clients/${connection.client}?tab=sign-in">Back to the settings</a></p>
</div>
<h2>Claims</h2>
<dl class="card claims">${rows}</dl>`;
  return context.sendPage({ title: `Test of ${connection.name}`, content });
};

const outcomeOf = (decision: TestedLogin['decision']): string => {
  switch (decision.kind) {
    case 'log-in':
      return `Log in ${decision.user.email}, who is connected already.`;
    case 'link':
      return `Ask for the password of ${decision.user.email} once, and connect the account${decision.hasInvitation ? ', which accepts the invitation' : ''}.`;
    case 'adopt':
      return `Connect and log in ${decision.user.email}, who has no password yet.`;
    case 'accept-invitation':
      return `Accept the invitation of ${decision.email} and create the account.`;
    case 'create':
      return `Create an account for ${decision.email}.`;
    case 'refuse':
      return 'Refuse the login.';
  }
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
