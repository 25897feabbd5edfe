import { Avatar, Button, Menu, useMantineColorScheme } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { logOut } from './log-out.ts';
import { useSession } from './use-session.ts';

export const UserMenu = () => {
  const { user } = useSession();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button variant="subtle" px="xs" flex="none" aria-label={`Account of ${user.email}`}>
          <Avatar src={user.profile_avatar} alt="" size={32} />
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{user.email}</Menu.Label>
        <Menu.Item renderRoot={(props) => <Link {...props} to="/account" />}>Account</Menu.Item>
        <Menu.Item component="a" href="/">
          Apps and sessions
        </Menu.Item>
        <Menu.Divider />
        <Menu.Label>Colors</Menu.Label>
        {(['auto', 'light', 'dark'] as const).map((scheme) => (
          <Menu.Item
            key={scheme}
            onClick={() => setColorScheme(scheme)}
            aria-checked={scheme === colorScheme}
          >
            {{ auto: 'Like the system', light: 'Light', dark: 'Dark' }[scheme]}
            {scheme === colorScheme && ' ✓'}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item onClick={logOut}>Log out</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
};
