// Every page in one list: where it is, what it is called, and who sees it in the navigation.
import type { LucideIcon } from "lucide-react";
import {
  Activity,
  Bot,
  ChartLine,
  DoorOpen,
  House,
  Plug,
  Settings,
  Table2,
  Users,
  Workflow,
  Wrench,
} from "lucide-react";
import type { ComponentType } from "react";
import type { May } from "./api/types";
import type { Words } from "./words";

type Module = { default: ComponentType };
/** Whoever may not do what a page is for is told so. */
export type PageEntry = { path: string; load: () => Promise<Module>; may?: May };
/** `also` are pages that belong to it and have addresses of their own. */
export type NavEntry = { path: string; word: keyof Words["nav"]; icon: LucideIcon; may?: May; also?: string[] };

export const nav: NavEntry[] = [
  { path: "/", word: "home", icon: House },
  { path: "/ui/services", word: "services", icon: Plug, may: "read" },
  { path: "/ui/tools", word: "tools", icon: Wrench, also: ["/ui/try"] },
  { path: "/ui/tables", word: "tables", icon: Table2 },
  { path: "/ui/doors", word: "doors", icon: DoorOpen },
  { path: "/ui/flows", word: "flows", icon: Workflow, also: ["/ui/runs", "/ui/approvals"] },
  { path: "/ui/agents", word: "agents", icon: Bot },
  { path: "/ui/calls", word: "calls", icon: Activity },
  { path: "/ui/metrics", word: "metrics", icon: ChartLine },
  { path: "/ui/people", word: "people", icon: Users, may: "manage" },
  { path: "/ui/settings", word: "settings", icon: Settings },
];

export const pages: PageEntry[] = [
  { path: "/", load: () => import("./pages/home") },
  { path: "/ui/login", load: () => import("./pages/home") },
  { path: "/ui/services", load: () => import("./pages/services") },
  { path: "/ui/services/new", load: () => import("./pages/services/add"), may: "make_services" },
  { path: "/ui/services/$type/$id", load: () => import("./pages/services/service") },
  { path: "/ui/services/$type/$id/tools/$tool", load: () => import("./pages/services/tool") },
  { path: "/ui/tools", load: () => import("./pages/tools") },
  { path: "/ui/tools/new", load: () => import("./pages/tools/add"), may: "make_tools" },
  { path: "/ui/tools/$id", load: () => import("./pages/tools/tool") },
  { path: "/ui/try", load: () => import("./pages/try") },
  { path: "/ui/tables", load: () => import("./pages/tables") },
  { path: "/ui/tables/$id", load: () => import("./pages/tables/table") },
  { path: "/ui/doors", load: () => import("./pages/doors") },
  { path: "/ui/doors/$id", load: () => import("./pages/doors/door") },
  { path: "/ui/flows", load: () => import("./pages/flows") },
  { path: "/ui/flows/$id", load: () => import("./pages/flows/flow") },
  { path: "/ui/runs/$id", load: () => import("./pages/flows/run") },
  { path: "/ui/approvals", load: () => import("./pages/flows/approvals") },
  { path: "/ui/agents", load: () => import("./pages/agents") },
  { path: "/ui/agents/$id", load: () => import("./pages/agents") },
  { path: "/ui/calls", load: () => import("./pages/calls") },
  { path: "/ui/calls/$id", load: () => import("./pages/calls/call") },
  { path: "/ui/metrics", load: () => import("./pages/metrics") },
  { path: "/ui/people", load: () => import("./pages/people"), may: "manage" },
  { path: "/ui/settings", load: () => import("./pages/settings") },
];
