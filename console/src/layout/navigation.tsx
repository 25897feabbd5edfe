import { Badge, NavLink, Stack, Text } from '@mantine/core';
import {
  type Icon,
  IconApps,
  IconBuilding,
  IconChartLine,
  IconHistory,
  IconHome,
  IconKey,
  IconLayoutGrid,
  IconMail,
  IconMoon,
  IconSend,
  IconUserCircle,
  IconUserPlus,
  IconUsers,
  IconUsersGroup,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { trpc } from '../api.ts';
import { canView } from './roles.ts';
import { screensFor } from './screens.ts';
import { useSession } from './use-session.ts';

type Entry = ReturnType<typeof screensFor>[number];

const ICONS: Record<Entry['to'], Icon> = {
  '/': IconHome,
  '/people': IconUsers,
  '/groups': IconUsersGroup,
  '/invite': IconUserPlus,
  '/invitations': IconSend,
  '/access': IconLayoutGrid,
  '/apps': IconApps,
  '/usage': IconChartLine,
  '/idle': IconMoon,
  '/audit': IconHistory,
  '/clients': IconBuilding,
  '/mails': IconMail,
  '/keys': IconKey,
  '/account': IconUserCircle,
};

type Props = { onNavigate: () => void };

/** The screens by section. */
export const Navigation = ({ onNavigate }: Props) => {
  const { roles } = useSession();
  const failedMails = useFailedMails();
  const sections = Map.groupBy(screensFor(roles), ({ section }) => section);
  return [...sections].map(([section, screens]) => (
    <Stack key={section} gap={2} mb="md">
      {section !== '' && (
        <Text size="xs" fw={600} c="dimmed" px={10} pb={2}>
          {section}
        </Text>
      )}
      {screens.map(({ to, label }) => (
        <NavigationLink
          key={to}
          to={to}
          label={label}
          count={to === '/mails' ? failedMails : 0}
          onClick={onNavigate}
        />
      ))}
    </Stack>
  ));
};

type LinkProps = Pick<Entry, 'to' | 'label'> & { count: number; onClick: () => void };

const NavigationLink = ({ to, label, count, onClick }: LinkProps) => {
  const Glyph = ICONS[to];
  return (
    <NavLink
      className="nav-link"
      renderRoot={(props) => (
        <Link {...props} to={to} activeOptions={{ exact: to === '/' }} onClick={onClick} />
      )}
      label={label}
      leftSection={<Glyph size={18} stroke={1.6} aria-hidden />}
      rightSection={
        count > 0 && (
          <Badge color="red" variant="light" size="sm" aria-label={`${count} failed`}>
            {count}
          </Badge>
        )
      }
    />
  );
};

/** Counting takes longer than most requests: a number that is a little old will do. */
const COUNT_MS = 5 * 60_000;

/** Mails that failed, as Home counts them. */
const useFailedMails = (): number => {
  const { roles } = useSession();
  const attention = useQuery(
    trpc.attention.get.queryOptions(undefined, { enabled: canView(roles), staleTime: COUNT_MS }),
  );
  return attention.data?.failed_mails.count ?? 0;
};
