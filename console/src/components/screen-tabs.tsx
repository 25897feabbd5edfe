import { Tabs } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './screen-tabs.module.css';

export type ScreenTab<T extends string> = {
  value: T;
  label: string;
  panel: ReactNode;
  /** Whether it keeps what was typed while another tab is shown. */
  isKept?: boolean;
};

type Props<T extends string> = {
  /** What the tabs are about. */
  label: string;
  value: T;
  tabs: readonly ScreenTab<T>[];
  onShow: (value: T) => void;
  /** Above the panel. */
  children?: ReactNode;
};

/** The parts of a screen. The one that is shown is in the address. */
export const ScreenTabs = <T extends string>({ label, value, tabs, onShow, children }: Props<T>) => (
  <Tabs
    value={value}
    onChange={(chosen) => {
      const tab = tabs.find((one) => one.value === chosen);
      if (tab) onShow(tab.value);
    }}
    keepMounted={false}
    keepMountedMode="display-none"
  >
    <Tabs.List mb="md" className={classes.list} aria-label={label}>
      {tabs.map((tab) => (
        <Tabs.Tab key={tab.value} value={tab.value}>
          {tab.label}
        </Tabs.Tab>
      ))}
    </Tabs.List>
    {children}
    {tabs.map((tab) => (
      <Tabs.Panel key={tab.value} value={tab.value} keepMounted={tab.isKept === true}>
        {tab.panel}
      </Tabs.Panel>
    ))}
  </Tabs>
);
