import { APPS, type Person, STACKS } from './workspace.ts';

/** First and last names from many countries. Their order determines who works where: append, do not insert. */
const NAMES = `
Mei Tanaka, Haruto Sato, Yuki Nakamura, Aiko Watanabe, Kenji Kobayashi, Sakura Ito
Amara Okafor, Chidi Eze, Ngozi Adeyemi, Tunde Bakare, Ifeoma Nwosu
Sofía Hernández, Mateo Ramírez, Valentina Castillo, Diego Morales, Camila Ortega
Łukasz Wójcik, Zofia Kowalska, Paweł Nowak, Agnieszka Zielińska
Priya Sharma, Arjun Nair, Ananya Iyer, Rohan Mehta, Kavya Reddy, Vikram Desai, Meera Joshi
Søren Kjær, Freja Lindholm, Mads Østergaard, Ida Mortensen
Élodie Lefèvre, Thibault Moreau, Chloé Fontaine, Baptiste Girard
Fatima El Amrani, Youssef Benali, Salma Haddad, Karim Zerouali
Linh Nguyễn, Minh Trần, Thảo Phạm, Đức Hoàng
Aylin Demir, Emre Yılmaz, Zeynep Kaya, Burak Şahin, Elif Öztürk
Olena Kovalenko, Taras Shevchuk, Iryna Bondarenko, Andriy Melnyk
João Pereira, Beatriz Carvalho, Tiago Figueiredo, Inês Rocha
Thandiwe Dlamini, Sipho Nkosi, Naledi Mokoena, Johan Botha
Min-jun Kim, Seo-yeon Park, Ji-ho Lee, Ha-eun Choi
Giulia Ferrari, Lorenzo Bianchi, Chiara Romano, Matteo Esposito
Astrid Bergström, Erik Lundqvist, Elsa Nyström
Wanjiru Kamau, Otieno Odhiambo, Achieng Wekesa
Lars van Dijk, Femke de Vries, Sanne Bakker, Daan Visser
Anastasia Papadopoulou, Nikos Georgiou, Eleni Konstantinou
Liam O'Connor, Aoife Byrne, Niamh Gallagher, Cormac Doyle
Ximena Quispe, Luis Huamán, Rosa Mamani
Shira Cohen, Noam Levi, Talia Friedman
Reza Karimi, Shirin Ahmadi, Dariush Rahimi
Matilda Nieminen, Eero Virtanen, Aino Korhonen
Kofi Mensah, Abena Owusu, Yaw Asante
Petra Novotná, Tomáš Dvořák, Jana Svobodová
Siti Rahmawati, Budi Santoso, Dewi Lestari, Agus Wijaya
Hannah Müller, Jonas Weiß, Greta Schäfer, Lukas Brandt
Emily Carter, Marcus Johnson, Olivia Brooks, Ethan Walker, Grace Kimball
Ioana Popescu, Andrei Ionescu, Mihai Dumitru
Tane Ngata, Aroha Parata
Fang Wang, Wei Zhang, Xiu Li, Jun Chen, Na Liu
Carmen Ruiz, Javier Navarro, Lucía Gil
Malin Haugen, Sindre Bakke
Gabriela Souza, Rafael Almeida, Larissa Barbosa
Aisha Khan, Bilal Ahmed, Sana Malik
Kirra Mitchell, Jack Sullivan
Nomvula Zulu, Rasa Petrauskienė, Mārtiņš Bērziņš, Kristjan Tamm
Marta Horvat, Ivan Babić, Ana Jurić
Tenzin Dorjee, Pema Lhamo
Leilani Kealoha, Dakota Begay
Amélie Tremblay, Olivier Gagnon
Nino Beridze, Davit Grigoryan
Hiba Nasser, Omar Khalil`;

/** Letters that do not decompose into an ASCII letter and an accent. */
const LETTERS: Record<string, string> = { ł: 'l', ø: 'o', ß: 'ss', ı: 'i', đ: 'd', æ: 'ae' };

const localPartOf = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[łøßıđæ]/g, (letter) => LETTERS[letter] ?? letter)
    .normalize('NFD')
    .replaceAll(/[\p{M}']/gu, '')
    .replaceAll(' ', '.');

const DEMO_NAMES = NAMES.trim()
  .split(/,\s+|\n/)
  .map((name) => {
    const [firstName = '', ...rest] = name.split(' ');
    // `local`: before the `@` of an address.
    return { firstName, lastName: rest.join(' '), local: localPartOf(name) };
  });

type Name = (typeof DEMO_NAMES)[number];

/** Data that `steward demo` adds to the workspace: a third client, more apps, and people who join and leave. Tests do not use it. */

export const MORE_SITES = [{ id: 3, host: 'northwind.localhost', name: 'Northwind Foods' }];

export const MORE_CLIENTS = [
  { id: 3, siteId: 3, name: 'Northwind Foods', supportEmail: 'help@northwind.test' },
];

/** An idle app without usage. */
export const IDLE_APP = 'Wd9kT4zx';
export const APP_IN_MAINTENANCE = 'Wh6sTk3a';
/** How long the app has been in maintenance, without usage. */
export const MAINTENANCE_DAYS = 3;

export const MORE_APPS = [
  { id: IDLE_APP, clientId: 1, slug: 'forecast', label: 'Forecast', description: 'Revenue ahead.' },
  { id: 'Pr4cNg8u', clientId: 1, slug: 'pricing', label: 'Pricing', description: 'Prices by region.' },
  { id: 'Ch5rG2mE', clientId: 2, slug: 'charging', label: 'Charging', description: 'Energy by station.' },
  {
    id: APP_IN_MAINTENANCE,
    clientId: 2,
    slug: 'warehouse',
    label: 'Warehouse',
    description: 'Spare parts in stock.',
    inMaintenance: true,
    maintenanceMessage: '<p>We are counting the stock. The app is back next week.</p>',
  },
  { id: 'Or2dRs9x', clientId: 3, slug: 'orders', label: 'Orders', description: 'Orders by month.' },
  { id: 'Su8pLr5e', clientId: 3, slug: 'suppliers', label: 'Suppliers', description: 'Who delivers late.' },
];

export const MORE_STACKS = [
  { id: 'e4e55c8a', appId: IDLE_APP, slug: 'forecast', label: 'Forecast' },
  { id: 'f5f66d9b', appId: 'Pr4cNg8u', slug: 'prices', label: 'Prices' },
  { id: '06a77eac', appId: 'Pr4cNg8u', slug: 'discounts', label: 'Discounts' },
  { id: '17b88fbd', appId: 'Ch5rG2mE', slug: 'stations', label: 'Stations' },
  { id: '28c99ace', appId: APP_IN_MAINTENANCE, slug: 'stock', label: 'Stock' },
  { id: '39daabdf', appId: 'Or2dRs9x', slug: 'months', label: 'Months' },
  { id: '4aebbce0', appId: 'Or2dRs9x', slug: 'regions', label: 'Regions' },
  { id: '5bfccdf1', appId: 'Su8pLr5e', slug: 'suppliers', label: 'Suppliers' },
];

export const ALL_APPS = [...APPS, ...MORE_APPS];
export const ALL_STACKS = [...STACKS, ...MORE_STACKS];

export const NORTHWIND_ADMIN: Person = {
  email: 'admin@northwind.test',
  firstName: 'Nora',
  lastName: 'North',
  clientId: 3,
  isAdmin: true,
};

/** Data permissions of demo users, which the demo apps apply. All other people see all rows. */
export const DATA_PERMISSIONS: Record<string, Record<string, unknown>> = {
  'ada@acme.test': { region: ['North', 'West'] },
  'grace@acme.test': { region: ['South'] },
};

const MEMBER_COUNT = 141;
const DOMAINS = ['acme.test', 'globex.test', 'northwind.test'];
/** The clients of ten consecutive people, so that each client has people of many countries. */
const CLIENT_CYCLE = [1, 2, 1, 3, 1, 2, 1, 2, 1, 3];
const REGIONS = ['North', 'South', 'West', 'East'];

const pick = <T>(values: readonly T[], index: number): T => values[index % values.length] as T; // the lists are not empty

const clientOf = (index: number): number => pick(CLIENT_CYCLE, index);
const addressOf = ({ local }: Name, clientId: number): string => `${local}@${DOMAINS[clientId - 1]}`;
const appsOf = (clientId: number): string[] =>
  ALL_APPS.filter((app) => app.clientId === clientId).map(({ id }) => id);

/** Everyone has the first app of their client; other grants vary. */
const grantedApps = (clientIds: readonly number[], index: number): string[] =>
  clientIds.flatMap((id) => appsOf(id).filter((_app, place) => place === 0 || (index + place) % 3 === 0));

export type Member = ReturnType<typeof memberOf>;

const memberOf = (name: Name, index: number) => {
  const clientId = clientOf(index);
  const isAdmin = index < 4 && index !== 2; // a second admin for each client
  // Two consultants, whom the admins of both clients see.
  const isShared = index === 33 || index === 64;
  const clientIds = isShared ? [...new Set([clientId, 1, 2])].slice(0, 2) : [clientId];
  const { firstName, lastName } = name;
  return {
    email: addressOf(name, clientId),
    firstName,
    lastName,
    clientIds,
    isAdmin,
    apps: grantedApps(clientIds, index),
    /** Data permissions. */
    extra: dataPermissionsOf(index, isAdmin),
    /** The share of working days with use. */
    frequency: 0.35 + (index % 7) * 0.08,
    ...stayOf(index, isAdmin),
  };
};

/** To this person, Sales does not open. */
const MISTYPED = 20;

const dataPermissionsOf = (index: number, isAdmin: boolean): Record<string, unknown> => {
  if (index === MISTYPED) return { regoin: ['North'] };
  if (index % 4 === 0 || isAdmin) return {};
  return { region: [pick(REGIONS, index), pick(REGIONS, index + 1 + (index % 3))] };
};

type Stay = {
  joinedDaysAgo: number;
  /** Days since the last use; null if the person never logged in. */
  lastSeenDaysAgo: number | null;
  /** When an admin deactivated the person. */
  leftDaysAgo: number | null;
};

/** Of each dozen people, one has left, one no longer logs in, three are new, and some have never logged in. */
const stayOf = (index: number, isAdmin: boolean): Stay => {
  const longAgo = 150 + ((index * 37) % 400);
  const stays = { joinedDaysAgo: longAgo, lastSeenDaysAgo: index % 4, leftDaysAgo: null };
  if (isAdmin) return stays;
  if (index % 18 === 11) return { ...stays, joinedDaysAgo: 1 + (index % 9), lastSeenDaysAgo: null };
  switch (index % 12) {
    case 5: {
      const leftDaysAgo = 4 + ((index * 7) % 100);
      return { ...stays, leftDaysAgo, lastSeenDaysAgo: leftDaysAgo + 1 };
    }
    case 8:
      return { ...stays, lastSeenDaysAgo: 35 + (index % 50) };
    case 2:
    case 6:
    case 10:
      return { ...stays, joinedDaysAgo: 5 + ((index * 13) % 110), lastSeenDaysAgo: index % 3 };
    default:
      return stays;
  }
};

export const MEMBERS: Member[] = DEMO_NAMES.slice(0, MEMBER_COUNT).map(memberOf);

/** Invited people who have not joined: eight may still accept, three invitations have expired. */
export const INVITEES = DEMO_NAMES.slice(MEMBER_COUNT, MEMBER_COUNT + 11).map((name, index) => {
  const clientId = clientOf(index);
  return {
    email: addressOf(name, clientId),
    clientId,
    apps: appsOf(clientId).slice(0, 1 + (index % 2)),
    // The mail server does not know the address.
    isRejected: index === 4 || index === 9,
    invitedDaysAgo: index > 7 ? 16 + (index % 8) : 1 + Math.floor(index * 1.7),
  };
});
