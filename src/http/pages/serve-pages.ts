import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { createCaller } from '../../../routers/index.ts';
import { html, messageHtml } from '../../lib/html.ts';
import { Problem, type ProblemCode } from '../../lib/problems.ts';
import { type ContextDeps, contextOf } from '../middleware/request-context.ts';
import { logFault } from '../middleware/request-logger.ts';
import { refuseOtherMethods } from '../rest/methods.ts';
import { problemOfHttpError } from '../rest/problem-document.ts';
import { emailPages } from './email.ts';
import { homePages } from './home.ts';
import { invitationPages } from './invitation.ts';
import { loginPages } from './login.ts';
import { loginCodePages } from './login-code.ts';
import { loginEnrolPages } from './login-enrol.ts';
import { accessViewPages, launchPages } from './open-app.ts';
import { consentPages } from './openid.ts';
import { createPageContext } from './page-context.ts';
import { sendPage } from './page-layout.ts';
import { servePasskeyScript } from './passkeys.ts';
import { passwordChangePages, passwordResetPages } from './passwords.ts';
import { CALLBACK_PATH, ssoPages } from './sso.ts';
import { viewAsPages } from './view-as.ts';

const PAGES = {
  ...homePages,
  ...launchPages,
  ...consentPages,
  ...loginPages,
  ...loginCodePages,
  ...loginEnrolPages,
  ...ssoPages,
  ...passwordResetPages,
  ...passwordChangePages,
  ...emailPages,
  ...invitationPages,
  ...accessViewPages,
  ...viewAsPages,
};

/** Serves the pages for users: plain HTML and forms. Only passkeys need a script. */
export const servePages = async (app: FastifyInstance, deps: ContextDeps): Promise<void> => {
  acceptFormsOnly(app);
  app.setErrorHandler((error, _request, reply) => failurePage(reply, error, deps));
  const urls = Object.entries(PAGES).map(([route, handle]) => {
    const [method = '', url = ''] = route.split(' ');
    app.route({
      method,
      url,
      // A HEAD request is a program that checks a link: it must not complete a login.
      exposeHeadRoute: url !== CALLBACK_PATH,
      handler: (_request, reply) => handle(createPageContext(reply, deps)),
    });
    return url;
  });
  refuseOtherMethods(app, urls);
  servePasskeyScript(app);
};

/** Far above the size of any form on these pages. */
const MAX_FORM_BYTES = 16 * 1024;

/** Parses URL-encoded forms and rejects every other body, including file uploads. */
const acceptFormsOnly = (app: FastifyInstance): void => {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: MAX_FORM_BYTES },
    (_request, body, done) => done(null, Object.fromEntries(new URLSearchParams(String(body)))),
  );
  app.addContentTypeParser('*', (_request, _payload, done) => done(new Problem('unsupported-media-type')));
};

/** Paths that always answer in a machine-readable format. */
const API_PATH = /^\/(api|trpc)(\/|\?|$)/;

/** Whether to report an error as a page instead of a problem document: to browsers, outside the API. */
export const isBrowserOutsideApi = (request: FastifyRequest): boolean =>
  !API_PATH.test(request.url) && request.accepts().type(['application/json', 'text/html']) === 'text/html';

/** Sends the page for an error that a page did not handle, with the client's texts for 404 and 500. */
export const failurePage = async (reply: FastifyReply, error: unknown, deps: ContextDeps) => {
  const { request } = reply;
  const problem = problemOfHttpError(error);
  const isServerError = problem.status >= 500;
  logFault(request, problem);
  const { branding } = createCaller(contextOf(request, deps));
  const brand = await branding.get({}).catch(() => DEFAULT_BRANDING);
  const { title, message } = await errorText(problem, brand);
  const content = html`
<p class="code">${problem.status}</p>
<h1>${title}</h1>
<div class="card">
${message}
${isServerError && html`<p class="aside">If you contact support, include this request ID: <code>${request.id}</code></p>`}
<p><a class="button" href="/">Go to the home page</a></p>
</div>`;
  return sendPage(reply, { brand, title, content, problem });
};

const CLIENT_ERRORS: Partial<Record<ProblemCode, string>> = {
  'method-not-allowed': 'This page does not support this kind of request.',
  'rate-limited': 'Too many requests. Wait a minute, then try again.',
};

const errorText = async ({ code, status }: Problem, branding: typeof DEFAULT_BRANDING) => {
  if (status === 404)
    return {
      title: branding.subtitle_404 || 'We could not find that page',
      message:
        (await messageHtml(branding.message_404)) ??
        html`<p>The link may be incomplete, or the page may have moved.</p>`,
    };
  if (status < 500)
    return {
      title: 'Request failed',
      message: html`<p>${CLIENT_ERRORS[code] ?? 'The request could not be read. Go back and try again.'}</p>`,
    };
  return {
    title: branding.subtitle_500 || 'Something went wrong on our side',
    message:
      status === 503
        ? html`<p>The service is temporarily unavailable. Please try again in a moment.</p>`
        : ((await messageHtml(branding.message_500)) ?? html`<p>Please try again in a moment.</p>`),
  };
};

/** For errors while the database, and with it the client's branding, is unavailable. */
const DEFAULT_BRANDING = {
  client_name: 'Steward',
  support_email: '',
  subtitle_404: '',
  message_404: '',
  subtitle_500: '',
  message_500: '',
};
