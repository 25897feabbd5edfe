import { leadsToApi } from '../../lib/app-link.ts';
import { html } from '../../lib/html.ts';
import { maintenanceNotice } from '../../lib/message-html.ts';
import type { Problem } from '../../lib/problems.ts';
import { forgetEmbedSession } from '../gate/embed-cookie.ts';
import { attempt, type PageContext, type Pages, pathParameter, queryParameter } from './page-context.ts';
import { redirectTo } from './page-layout.ts';
import { loginPath } from './redirects.ts';

/** `/launch/{app_slug}/` opens an app for the user of the browser session, who logs in first if needed. */
export const launchPages: Pages = {
  'GET /launch/:app_slug/': async (context) => {
    const app_slug = pathParameter(context, 'app_slug');
    const stack = queryParameter(context, 'stack');
    if (!(await context.currentUser())) return redirectTo(context.reply, loginPath(context.request.url));
    const { value, problem } = await attempt(() => context.reader.apps.launch({ app_slug, stack }));
    if (value && leadsToApi(value.url)) return sendUnready(context, app_slug);
    if (value) {
      forgetEmbedSession(context.reply, app_slug, context.isSecure);
      return redirectTo(context.reply, value.url);
    }
    const isKnown = problem.code === 'app-in-maintenance' || problem.code === 'client-closed';
    if (!isKnown) throw problem;
    return sendRefusal(context, app_slug, problem);
  },
};

const sendUnready = async (context: PageContext, slug: string) => {
  const apps = await context.reader.apps.list({});
  const label = apps.find((one) => one.slug === slug)?.label ?? 'This app';
  return context.sendCard({
    title: `${label} cannot be opened yet`,
    body: html`<p>It has no address yet. Ask the person who invited you when it will be ready.</p>
<p><a class="button" href="/">Go to the home page</a></p>`,
    status: 404,
  });
};

const sendRefusal = async (context: PageContext, slug: string, problem: Problem) => {
  const apps = await context.reader.apps.list({});
  const app = apps.find((one) => one.slug === slug);
  const { title, body } =
    problem.code === 'client-closed'
      ? { title: 'This app is closed', body: html`<p>${problem.message}</p>` }
      : await maintenanceNotice(app?.label ?? 'This app', app?.maintenance_message ?? '');
  return context.sendCard({
    title,
    body: html`${body}
<p><a class="button" href="/">Go to the home page</a></p>`,
    problem,
  });
};
