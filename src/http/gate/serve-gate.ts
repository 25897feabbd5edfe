import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { problemOf } from '../../../routers/middleware/errors.ts';
import { html } from '../../lib/html.ts';
import { Problem } from '../../lib/problems.ts';
import { createTimeLimit } from '../../lib/time-limit.ts';
import type { Admission } from '../../services/gate/forward-auth.ts';
import { type ContextDeps, contextOf } from '../middleware/request-context.ts';
import { createPageContext } from '../pages/page-context.ts';
import { localPath, loginPath, redirectTo, stepUpPath } from '../pages/page-layout.ts';
import { isBrowserOutsideApi } from '../pages/serve-pages.ts';
import { refuseOtherMethods } from '../rest/methods.ts';
import { sendProblem } from '../rest/problem-document.ts';
import { acceptsSecureCookies, embedCookieName } from './embed-cookie.ts';
import { lookCookieName } from './look-cookie.ts';

const GATE_PATH = '/gate/:app_slug/';

type Gate = { Params: { app_slug: string }; Querystring: { redirect?: string } };

/** Answers proxies, which ask before they forward each request to an app. */
export const serveGate = (app: FastifyInstance, deps: ContextDeps): void => {
  const answer = async (request: FastifyRequest<Gate>, reply: FastifyReply) => {
    reply.header('vary', 'Cookie, Authorization');
    const slug = request.params.app_slug;
    const context = contextOf(request, deps);
    const isSecure = acceptsSecureCookies(deps.baseUrl);
    const look = request.cookies[lookCookieName(slug, isSecure)] ?? null;
    const embed = request.cookies[embedCookieName(slug, isSecure)] ?? null;
    try {
      const { forwardAuth } = context.openServices();
      const admitted = createTimeLimit(deps.timeLimitMs).run(() =>
        forwardAuth.admit(slug, { look, embed }, context.findActor),
      );
      return admit(reply, await admitted);
    } catch (error) {
      const problem = refusalOf(problemOf(error));
      const next = returnPath(request, slug, deps.baseUrl);
      const step = problem.loginStep;
      return refuse(reply, problem, {
        login: deps.baseUrl + (step === undefined ? loginPath(next) : stepUpPath(step, next)),
        launch: look === null ? null : deps.baseUrl + launchPath(slug),
        redirects: request.query.redirect === '1',
        deps,
      });
    }
  };
  app.get<Gate>(GATE_PATH, answer);
  // A proxy may ask with the method of the request, so all methods get the decision: the proxy would read any other success as permission.
  app.options<Gate>(GATE_PATH, answer);
  refuseOtherMethods(app, [GATE_PATH]);
};

/** All headers are always sent: Caddy would forward the placeholder of an absent one. */
const admit = (reply: FastifyReply, admission: Admission): FastifyReply => {
  const { user, client, roles, appRoles, ticket, code, viewer, embedOrigins } = admission;
  return reply
    .code(204)
    .header('x-steward-user', toAscii(user))
    .header('x-steward-client', toAscii(client))
    .header('x-steward-roles', roles.join(','))
    .header('x-steward-app-roles', appRoles.join(','))
    .header('x-steward-ticket', ticket ?? '')
    .header('x-steward-code', code ?? '')
    .header('x-steward-actor', toAscii(viewer ?? ''))
    .header('x-steward-read-only', String(viewer !== null))
    .header('x-steward-frame-ancestors', embedOrigins.join(' ') || "'none'")
    .send();
};

/** `launch`: where a browser whose look has ended opens the app again; otherwise null. */
type Refusal = { login: string; launch: string | null; redirects: boolean; deps: ContextDeps };

const refuse = async (reply: FastifyReply, problem: Problem, { login, launch, redirects, deps }: Refusal) => {
  const isLoggedOut = problem.status === 401;
  if (isLoggedOut) reply.header('x-steward-login', login);
  if (problem.status >= 500 && problem.code !== 'app-in-maintenance') return sendProblem(reply, problem);
  if (!isBrowserOutsideApi(reply.request)) return sendProblem(reply, problem);
  if (isLoggedOut && redirects) return redirectTo(reply, login);
  return createPageContext(reply, deps).sendCard({
    title: TITLES[problem.status] ?? 'Request failed',
    body: html`<p>${problem.message}</p>
${isLoggedOut && html`<p><a class="button" href="${login}">Log in</a></p>`}
${problem.status === 403 && launch !== null && html`<p><a class="button" href="${launch}">Open it as yourself</a></p>`}`,
    problem,
  });
};

/** A session that is too weak does not log in to the app: proxies redirect the browser to the login only for a 401 (as RFC 9470 does). */
const refusalOf = (problem: Problem): Problem => {
  const { loginStep } = problem;
  return loginStep === undefined
    ? problem
    : new Problem('unauthenticated', { detail: NEEDS_FACTOR, loginStep });
};

const NEEDS_FACTOR = 'This app needs a login with a second factor.';

const TITLES: Record<number, string> = {
  401: 'Log in to open this app',
  403: 'You may not open this app',
  503: 'This app is in maintenance',
};

/**
 * The target after the login: the requested page if it is on the host of the service, because the login page redirects nowhere else;
 * otherwise a launch of the app.
 */
const returnPath = ({ headers }: FastifyRequest, slug: string, baseUrl: string): string => {
  const host = headers['x-forwarded-host'] ?? headers.host;
  const path = headers['x-original-uri'] ?? headers['x-forwarded-uri'];
  const isOwnHost = host === new URL(baseUrl).host;
  return (isOwnHost && localPath(String(path ?? ''))) || launchPath(slug);
};

const launchPath = (slug: string): string => `/launch/${encodeURIComponent(slug)}/`;

/** Percent-encodes characters that a header cannot contain, and `%`. */
const toAscii = (text: string): string => text.replaceAll(/[^\x20-\x24\x26-\x7e]+/gu, encodeURIComponent);
