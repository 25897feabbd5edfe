import { acceptInvitations } from './accept-invitations.ts';
import { explainAccess } from './explain-access.ts';
import { findChange } from './find-change.ts';
import { findPerson } from './find-person.ts';
import { findUnusedApp } from './find-unused-app.ts';
import { grantApp } from './grant-app.ts';
import { invitePeople } from './invite-people.ts';
import { startMaintenance } from './start-maintenance.ts';
import type { Step } from './tour.ts';

/** In this order: later steps need what earlier ones made. */
export const STEPS: Step[] = [
  { title: 'find a person in a few keystrokes', run: findPerson },
  { title: 'invite 200 people from a CSV file', run: invitePeople },
  { title: 'accept invitations', run: acceptInvitations },
  { title: 'grant an app to 30 people, and undo it', run: grantApp },
  { title: 'find out why someone may open an app', run: explainAccess },
  { title: 'find the app without use', run: findUnusedApp },
  { title: 'put an app into maintenance', run: startMaintenance },
  { title: 'find out who changed a name yesterday', run: findChange },
];
