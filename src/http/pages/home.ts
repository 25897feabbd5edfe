import { formatDateTime, type Html, html } from '../../lib/html.ts';
import type { Problem } from '../../lib/problems.ts';
import { describeUserAgent } from '../../lib/user-agent.ts';
import { logoutForm } from './login.ts';
import { type Caller, isFormRejected, type PageContext, type Pages, pathParameter } from './page-context.ts';
import { homeUrl, redirectTo } from './page-layout.ts';
import { alertBox } from './parts.ts';

/** `/`: the apps and sessions of the user who is logged in. */
export const homePages: Pages = {
  'GET /': async (context) => sendHome(context),

  'POST /sessions/:id/end/': async (context) => {
    const id = Number(pathParameter(context, 'id'));
    const { problem } = await context.submit((caller) => caller.sessions.revoke({ id }));
    // Other problems mean that the session has already ended.
    return isFormRejected(problem) ? sendHome(context, problem) : redirectTo(context.reply, '/');
  },
};

const sendHome = async (context: PageContext, problem: Problem | null = null) => {
  const user = await context.currentUser();
  if (!user) return redirectTo(context.reply, '/login/');
  const { reader, getBranding } = context;
  const [branding, apps, sessions] = await Promise.all([
    getBranding(),
    reader.apps.list({}),
    reader.sessions.list({}),
  ]);
  const home = homeUrl(branding.home_location);
  const content = html`
<h1>Hello${user.first_name !== '' && ` ${user.first_name}`}</h1>
<p class="lead">You are logged in as ${user.email}.</p>
${alertBox(problem)}
<section class="card" aria-labelledby="apps">
<h2 id="apps">Your apps</h2>
${appList(apps)}
${home !== '/' && html`<p><a class="button" href="${home}">Go to your apps</a></p>`}
</section>
<section class="card" aria-labelledby="sessions">
<h2 id="sessions">Sessions</h2>
<ul class="rows">${sessions.map((session) => sessionRow(context, session))}</ul>
</section>
<section class="card" aria-labelledby="account">
<h2 id="account">Your account</h2>
<div class="actions"><a class="button quiet" href="/console/">Open the console</a>
<a class="button quiet" href="/password/change/">Change your password</a>
${logoutForm(context, { isQuiet: true })}</div>
</section>`;
  return context.sendPage({ title: 'Home', content, isWide: true, problem });
};

type Apps = Awaited<ReturnType<Caller['apps']['list']>>;
type Session = Awaited<ReturnType<Caller['sessions']['list']>>[number];

const appList = (apps: Apps): Html =>
  apps.length === 0
    ? html`<p>No apps yet. Ask the person who invited you for access.</p>`
    : html`<ul class="tiles">${apps.map(
        (app) => html`<li><a href="/launch/${app.slug}/"><strong>${app.label}</strong>
${app.in_maintenance ? html`<span>In maintenance</span>` : app.description !== '' && html`<span>${app.description}</span>`}</a></li>\n`,
      )}</ul>`;

const sessionRow = (context: PageContext, session: Session): Html => {
  const browser = describeUserAgent(session.user_agent);
  const lastUsed = formatDateTime(session.last_used);
  return html`
<li><div><strong>${browser}</strong>
<span>${session.last_address !== '' && `${session.last_address}, `}last used
<time datetime="${session.last_used.toISOString()}">${lastUsed}</time></span></div>
${
  session.is_current
    ? html`<span class="badge">This browser</span>`
    : html`<form method="post" action="/sessions/${session.id}/end/">${context.csrfField()}
<button class="quiet" aria-label="Log out ${browser}, last used ${lastUsed}">Log out</button></form>`
}</li>`;
};
