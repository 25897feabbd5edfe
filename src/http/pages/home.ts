import type { FastifyInstance } from 'fastify';
import type { Problem } from '../../lib/problems.ts';
import { browserOf } from './browsers.ts';
import { alertBox } from './fields.ts';
import { type Html, html } from './html.ts';
import { logoutForm } from './logout.ts';
import { momentOf, sentenceOf } from './messages.ts';
import { type Caller, isStaleForm, type PageDeps, type Visit, visitOf } from './page-context.ts';
import { homeOf } from './redirects.ts';
import { goTo, sendPage } from './send-page.ts';

/** `/`: one's own apps and logins. */
export const serveHome = (app: FastifyInstance, deps: PageDeps): void => {
  app.get('/', async (request, reply) => sendHome(visitOf(request, reply, deps), deps));

  app.post<{ Params: { id: string } }>('/sessions/:id/end/', async (request, reply) => {
    const visit = visitOf(request, reply, deps);
    const id = Number(request.params.id);
    const { problem } = await visit.submit((caller) => caller.sessions.revoke({ id }));
    // One that is no longer there has ended, which is all that was wished for.
    return isStaleForm(problem) ? sendHome(visit, deps, problem) : goTo(reply, '/');
  });
};

const sendHome = async (visit: Visit, { appUrl }: PageDeps, problem: Problem | null = null) => {
  const user = await visit.user();
  if (!user) return goTo(visit.reply, '/login/');
  const { reader } = visit;
  const [branding, apps, sessions] = await Promise.all([
    reader.branding.get({}),
    reader.apps.list({}),
    reader.sessions.list({}),
  ]);
  const home = homeOf(branding.home_location);
  const content = html`
<h1>Hello${user.first_name !== '' && ` ${user.first_name}`}</h1>
<p class="lead">You are logged in as ${user.email}.</p>
${alertBox(problem && sentenceOf(problem))}
<section class="card" aria-labelledby="apps">
<h2 id="apps">Your apps</h2>
${appsList(apps, appUrl)}
${home !== '/' && html`<p><a class="button" href="${home}">Go to your apps</a></p>`}
</section>
<section class="card" aria-labelledby="sessions">
<h2 id="sessions">Where you are logged in</h2>
<ul class="rows">${sessions.map((session) => sessionRow(visit, session))}</ul>
</section>
<section class="card" aria-labelledby="account">
<h2 id="account">Your account</h2>
<div class="actions"><a class="button quiet" href="/password/change/">Change your password</a>
${logoutForm(visit, { isQuiet: true })}</div>
</section>`;
  return sendPage(visit.reply, { brand: branding, title: 'Home', content, isWide: true }, { problem });
};

type Apps = Awaited<ReturnType<Caller['apps']['list']>>;
type Session = Awaited<ReturnType<Caller['sessions']['list']>>[number];

const urlOfApp = (template: string, { slug, id }: Apps[number]): string =>
  template.replaceAll('{slug}', slug).replaceAll('{id}', id);

const appsList = (apps: Apps, appUrl: string): Html =>
  apps.length === 0
    ? html`<p>None yet. Whoever invited you can give you some.</p>`
    : html`<ul class="tiles">${apps.map(
        (app) => html`<li><a href="${urlOfApp(appUrl, app)}"><strong>${app.label}</strong>
${app.description !== '' && html`<span>${app.description}</span>`}</a></li>\n`,
      )}</ul>`;

const sessionRow = (visit: Visit, session: Session): Html => {
  const browser = browserOf(session.user_agent);
  const lastUsed = momentOf(session.last_used);
  return html`
<li><div><strong>${browser}</strong>
<span>${session.last_address !== '' && `${session.last_address}, `}last used
<time datetime="${session.last_used.toISOString()}">${lastUsed}</time></span></div>
${
  session.is_current
    ? html`<span class="badge">This browser</span>`
    : html`<form method="post" action="/sessions/${session.id}/end/">${visit.csrfField()}
<button class="quiet" aria-label="Log out ${browser}, last used ${lastUsed}">Log out</button></form>`
}</li>`;
};
