import { formatDateTime, type Html, html } from '../../lib/html.ts';
import { notFound } from '../../lib/problems.ts';
import type { Services } from '../../services/index.ts';
import { keepLook, lookCookieName } from '../gate/look-cookie.ts';
import { attempt, type PageContext, type Pages, pathParameter, queryParameter } from './page-context.ts';
import { loginPath, redirectTo, stepUpPath } from './page-layout.ts';
import { alertBox, userMessage } from './parts.ts';

/** `/view-as/{id}/` shows who looks at an app as whom, and ends the look. `…/open/{secret}/` opens the app, once. */
export const viewAsPages: Pages = {
  'GET /view-as/:id/open/:secret/': async (context) => {
    const { request, reply } = context;
    const actor = await context.currentActor();
    if (!actor) return redirectTo(reply, loginPath(request.url));
    // A program that checks links must not use it up.
    if (request.method === 'HEAD') return reply.send();
    const id = idOf(context);
    const { looks } = context.openServices();
    const { value, problem } = await attempt(() => looks.open(actor, id, pathParameter(context, 'secret')));
    if (value) {
      keepLook(reply, value.appSlug, value.secret, context.isSecure);
      return redirectTo(reply, value.location, 'no-referrer');
    }
    if (problem.loginStep !== undefined) return redirectTo(reply, stepUpPath(problem.loginStep, request.url));
    return context.sendCard({
      title: 'The app cannot be opened',
      body: html`<p>${problem.code === 'invalid-link' ? USED : userMessage(problem)}</p>
<p><a class="button" href="/view-as/${id}/">Show details</a></p>`,
      problem,
    });
  },

  'GET /view-as/:id/': (context) => sendLook(context),

  'POST /view-as/:id/end/': async (context) => {
    const id = idOf(context);
    const { problem } = await context.submit((caller) => caller.users.endViewAs({ id }));
    return problem ? sendLook(context, alertBox(problem)) : redirectTo(context.reply, `/view-as/${id}/`);
  },
};

const USED = 'This link was used before, belongs to another session, or has ended.';

/** The query of a launch that opens the app as the person, instead of the page about the look. */
const CONTINUE = 'continue';

/**
 * The response to a launch in a browser in which the user looks at the app as someone, or null: the app if it asked for a launch, or the
 * page about the look.
 */
export const launchLook = async (context: PageContext, slug: string) => {
  const secret = context.request.cookies[lookCookieName(slug, context.isSecure)];
  const actor = await context.currentActor();
  const look = secret && actor ? await context.openServices().looks.find(actor, secret, slug) : null;
  if (!look) return null;
  const [state, stackSlug] = [queryParameter(context, 'state'), queryParameter(context, 'stack')];
  if (state === undefined && queryParameter(context, CONTINUE) === undefined)
    return redirectTo(context.reply, `/view-as/${look.id}/`);
  const { value, problem } = await attempt(() => look.launch({ state, stackSlug }));
  if (value !== null) return redirectTo(context.reply, value);
  return problem.loginStep === undefined
    ? redirectTo(context.reply, `/view-as/${look.id}/`)
    : redirectTo(context.reply, stepUpPath(problem.loginStep, context.request.url));
};

const idOf = (context: PageContext): number => {
  const id = Number(pathParameter(context, 'id'));
  if (!Number.isSafeInteger(id)) throw notFound('look');
  return id;
};

type Look = Awaited<ReturnType<Services['looks']['get']>>;

const sendLook = async (context: PageContext, alert: Html | false = false) => {
  const actor = await context.currentActor();
  // Tokens, which may have other scopes, read the API.
  if (actor?.credential?.kind !== 'session') return redirectTo(context.reply, loginPath(context.request.url));
  const look = await context.openServices().looks.get(actor, idOf(context));
  const { actor: viewer, user, app_label: app, ended_at: endedAt } = look;
  return endedAt === null
    ? context.sendCard({
        title: `${app}, read-only`,
        body: html`${alert}
<p><strong>${viewer} is looking at ${app} as ${user}</strong>, until ${formatDateTime(look.ends_at)} at the latest.</p>
<p>Reason: ${look.reason}</p>
<form method="post" action="/view-as/${look.id}/end/">${context.csrfField()}<button>Stop viewing</button></form>
${viewer === actor.email && html`<p><a class="button quiet" href="${launchPath(look)}?${CONTINUE}=1">Open ${app}</a></p>`}`,
      })
    : context.sendCard({
        title: 'Viewing has ended',
        body: html`<p>${viewer} looked at ${app} as ${user}, until ${formatDateTime(endedAt)}.</p>
<p><a class="button" href="${launchPath(look)}">Open ${app} as yourself</a></p>`,
      });
};

const launchPath = ({ app_slug }: Look): string => `/launch/${app_slug}/`;
