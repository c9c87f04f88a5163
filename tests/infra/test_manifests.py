"""What is deployed fits the code: schemas, images, commands, ports, variables, paths, names."""

import json
import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from jobs.cli import main
from jobs.config import parse_config
from jobs.metrics import METRICS
from tests.command_lines import check, words_of

PROJECT = Path(__file__).parents[2]
INFRA = PROJECT / "infra"
KUBERNETES = "1.31"
MANIFESTS = sorted((INFRA / "kubernetes").glob("*.yaml"))
VERSION = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["version"]
RAY_VERSION = re.search(r"^ray==(.+)$", (PROJECT / "constraints.txt").read_text(), re.MULTILINE)[1]

# Of the custom resources, by their Go types (KubeRay ray.io/v1, Prometheus operator).
RAY_JOB = {
    *("activeDeadlineSeconds", "backoffLimit", "clusterSelector", "deletionStrategy"),
    *("entrypoint", "entrypointNumCpus", "entrypointNumGpus", "entrypointResources", "jobId"),
    *("managedBy", "metadata", "rayClusterSpec", "runtimeEnvYAML", "shutdownAfterJobFinishes"),
    *("submissionMode", "submitterConfig", "submitterPodTemplate", "suspend"),
    "ttlSecondsAfterFinished",
}
RAY_CLUSTER = {
    *("autoscalerOptions", "enableInTreeAutoscaling", "headGroupSpec", "headServiceAnnotations"),
    *("managedBy", "rayVersion", "suspend", "workerGroupSpecs"),
}
HEAD_GROUP = {"enableIngress", "headService", "rayStartParams", "serviceType", "template"}
WORKER_GROUP = {
    *("groupName", "idleTimeoutSeconds", "maxReplicas", "minReplicas", "numOfHosts"),
    *("rayStartParams", "replicas", "scaleStrategy", "suspend", "template"),
}
AUTOSCALER = {
    *("env", "envFrom", "idleTimeoutSeconds", "image", "imagePullPolicy", "resources"),
    *("securityContext", "upscalingMode", "version", "volumeMounts"),
}


def documents(path: Path) -> list[dict]:
    return list(yaml.safe_load_all(path.read_text(encoding="utf-8")))


def compose() -> dict:
    (found,) = documents(INFRA / "compose.yaml")
    return found


ALL = {path.name: doc for path in MANIFESTS for doc in documents(path)}
CLUSTERS = {
    "backfill.rayjob.yaml": ALL["backfill.rayjob.yaml"]["spec"]["rayClusterSpec"],
    "nightly.raycronjob.yaml": ALL["nightly.raycronjob.yaml"]["spec"]["jobTemplate"][
        "rayClusterSpec"
    ],
    "raycluster.yaml": ALL["raycluster.yaml"]["spec"],
}
RAY_JOBS = {
    "backfill.rayjob.yaml": ALL["backfill.rayjob.yaml"]["spec"],
    "nightly.raycronjob.yaml": ALL["nightly.raycronjob.yaml"]["spec"]["jobTemplate"],
}
CRON_POD = ALL["nightly.cronjob.yaml"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]


def pod_templates() -> list[dict]:
    groups = [
        group
        for cluster in CLUSTERS.values()
        for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"])
    ]
    return [group["template"] for group in groups]


def containers() -> list[dict]:
    pods = [template["spec"] for template in pod_templates()]
    return [c for pod in (*pods, CRON_POD) for c in pod["containers"]]


class TestSchemas:
    @pytest.mark.parametrize("name", sorted(ALL))
    def test_core_kinds_are_valid(self, name):
        manifest = ALL[name]
        if manifest["apiVersion"] in {"v1", "batch/v1"}:
            kubernetes_validate.validate(manifest, KUBERNETES, strict=True)
        else:
            assert manifest["kind"] in {"RayJob", "RayCronJob", "RayCluster", "PodMonitor"}

    def test_the_validator_would_see_a_wrong_field(self):
        spoiled = json.loads(json.dumps(ALL["nightly.cronjob.yaml"]))
        spoiled["spec"]["jobTemplate"]["spec"]["template"]["spec"]["restartPolicies"] = "Never"

        with pytest.raises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(spoiled, KUBERNETES, strict=True)

    def test_pods_within_custom_resources_are_valid(self):
        for template in pod_templates():
            whole = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "x"}}
            kubernetes_validate.validate({**whole, "template": template}, KUBERNETES, strict=True)

    @pytest.mark.parametrize("name", sorted(CLUSTERS))
    def test_clusters_have_no_field_that_kuberay_does_not_know(self, name):
        cluster = CLUSTERS[name]

        assert cluster.keys() <= RAY_CLUSTER
        assert cluster["headGroupSpec"].keys() <= HEAD_GROUP
        assert cluster["autoscalerOptions"].keys() <= AUTOSCALER
        for group in cluster["workerGroupSpecs"]:
            assert group.keys() <= WORKER_GROUP
            assert {"groupName", "minReplicas", "maxReplicas", "rayStartParams"} <= group.keys()
        starts = [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]
        assert all(isinstance(v, str) for g in starts for v in g["rayStartParams"].values())

    @pytest.mark.parametrize("name", sorted(RAY_JOBS))
    def test_jobs_have_no_field_that_kuberay_does_not_know(self, name):
        job = RAY_JOBS[name]

        assert job.keys() <= RAY_JOB
        assert job["submissionMode"] == "HTTPMode"  # a submitter pod would need rights

    def test_the_nightly_ray_job_is_a_schedule_and_a_template(self):
        assert ALL["nightly.raycronjob.yaml"]["spec"].keys() == {"schedule", "jobTemplate"}


class TestImages:
    def test_ours_carry_the_version_of_the_project_and_others_are_pinned(self):
        images = [c["image"] for c in containers()]
        images += [s["image"] for s in compose()["services"].values()]

        assert images
        for image in images:
            name, _, tag = image.rpartition(":")
            assert tag != "latest", image
            assert re.search(r"\d", tag), image
            if name.startswith("kitelift"):
                assert tag == VERSION, image

    def test_ray_in_the_manifests_is_ray_in_the_image(self):
        assert {cluster["rayVersion"] for cluster in CLUSTERS.values()} == {RAY_VERSION}

    def test_the_dockerfile_copies_what_is_there_and_runs_as_nobody_special(self):
        text = (INFRA / "Dockerfile").read_text(encoding="utf-8")
        ignored = (PROJECT / ".dockerignore").read_text(encoding="utf-8").splitlines()

        for line in re.findall(r"^COPY (?!--from)(.+)$", text, re.MULTILINE):
            for source in line.split()[:-1]:
                assert (PROJECT / source).exists(), source
                assert source not in ignored, source
        stages = re.split(r"^FROM ", text, flags=re.MULTILINE)[1:]
        for stage in stages:
            name = re.match(r"\S+ AS (\S+)", stage)[1]
            if not name.endswith("build"):
                assert "\nUSER 10001" in stage, name
        assert len(re.findall(r"pip install -c \S*constraints.txt", text)) == 2
        assert stages[-1].startswith("python:3.11-slim-bookworm AS kitelift\n")
        data = tomllib.loads((PROJECT / "pyproject.toml").read_text())
        assert data["project"]["requires-python"] == ">=3.11"

    def test_our_programs_are_found_in_a_login_shell_too(self):
        image = (INFRA / "Dockerfile").read_text(encoding="utf-8").rpartition("\nFROM ")[2]
        (line,) = re.findall(r"echo '(export PATH=.+)' > /etc/profile.d/", image)
        shell = ["sh", "-c", f'PATH=/usr/bin:/bin; {line}; printf %s "$PATH"']

        path = subprocess.run(shell, capture_output=True, text=True, check=True).stdout

        assert path == "/opt/kitelift/bin:/usr/bin:/bin"
        assert "ENV PATH=/opt/kitelift/bin:$PATH" in image

    def test_the_image_carries_templates_and_styles(self):
        patterns = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["setuptools"]
        shipped = set(patterns["package-data"]["*"])

        for path in (PROJECT / "jobs" / "templates").iterdir():
            assert f"*{path.suffix}" in shipped, path.name


class TestCommands:
    def test_every_command_of_a_manifest_exists(self):
        (submit,) = CRON_POD["containers"]
        lines = [job["entrypoint"] for job in RAY_JOBS.values()]
        lines.append(shlex.join([*submit["command"], *submit["args"]]))

        for line in lines:
            assert line.startswith("kitelift ")
            check(words_of(line))

    @pytest.mark.parametrize(("code", "ends"), [(0, True), (1, True), (2, False), (3, False)])
    def test_a_nightly_run_that_ends_partial_is_not_run_again(self, code, ends):
        entrypoint = RAY_JOBS["nightly.raycronjob.yaml"]["entrypoint"]
        shell = ["sh", "-c", f"kitelift() {{ return {code}; }}; {entrypoint}"]
        (rule,) = ALL["nightly.cronjob.yaml"]["spec"]["jobTemplate"]["spec"]["podFailurePolicy"][
            "rules"
        ]

        assert (subprocess.run(shell, check=False).returncode == 0) == ends
        assert rule["onExitCodes"]["containerName"] == CRON_POD["containers"][0]["name"]
        assert 1 in rule["onExitCodes"]["values"]

    def test_configurations_are_read_and_lie_where_the_commands_look(self):
        written = {
            name: parse_config(tomllib.loads(text), name)
            for name, text in ALL["config.yaml"]["data"].items()
        }
        config, backfill = written["kitelift.toml"], written["backfill.toml"]
        mounted = {
            mount["mountPath"]
            for container in containers()
            for mount in container.get("volumeMounts", ())
        }

        assert config.run.executor == "ray"
        assert config.run.workers == 32
        (folder,) = mounted
        for job in RAY_JOBS.values():
            assert re.search(rf"-c {folder}/(\S+)", job["entrypoint"])[1] in written
        assert "/backfill.toml" in RAY_JOBS["backfill.rayjob.yaml"]["entrypoint"]
        for section in ("source", "state", "s3", "chunking", "milvus"):
            assert getattr(backfill, section) == getattr(config, section), section
        assert backfill.embedding.model == config.embedding.model
        assert backfill.embedding.requests_per_minute < config.embedding.requests_per_minute
        # An autoscaler starts from nothing: it must be asked for more than the head has.
        per_pod = {
            int(c["resources"]["limits"]["cpu"]) for c in containers() if "ray-worker" in c["name"]
        }
        assert (
            config.run.workers
            == per_pod.pop() * CLUSTERS["raycluster.yaml"]["workerGroupSpecs"][0]["maxReplicas"]
        )


class TestPorts:
    @pytest.mark.parametrize("name", sorted(CLUSTERS))
    def test_metrics_are_exported_where_they_are_scraped(self, name):
        cluster = CLUSTERS[name]
        for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"]):
            (container,) = group["template"]["spec"]["containers"]
            ports = {p["name"]: p["containerPort"] for p in container["ports"]}
            assert str(ports["metrics"]) == group["rayStartParams"]["metrics-export-port"]
        (endpoint,) = ALL["podmonitor.yaml"]["spec"]["podMetricsEndpoints"]
        assert endpoint["port"] == "metrics"

    def test_the_cron_job_submits_to_the_head_of_the_standing_cluster(self):
        args = CRON_POD["containers"][0]["args"]
        name = ALL["raycluster.yaml"]["metadata"]["name"]
        (head,) = CLUSTERS["raycluster.yaml"]["headGroupSpec"]["template"]["spec"]["containers"]
        dashboard = {p["name"]: p["containerPort"] for p in head["ports"]}["dashboard"]

        assert args[args.index("--address") + 1] == f"http://{name}-head-svc:{dashboard}"
        default = next(p for p in main.commands["submit"].params if p.name == "address").default
        assert default.endswith(f":{dashboard}")


class TestCompose:
    def test_services_wait_only_for_what_can_tell_that_it_is_healthy(self):
        services = compose()["services"]
        dockerfile = (INFRA / "Dockerfile").read_text(encoding="utf-8")
        for name, service in services.items():
            for other, condition in service.get("depends_on", {}).items():
                assert other in services, f"{name} waits for {other}"
                if condition["condition"] == "service_healthy":
                    built = service_is_checked_in(services[other], dockerfile)
                    assert "healthcheck" in services[other] or built, other

    def test_nothing_is_published_beyond_this_machine(self):
        ports = [p for s in compose()["services"].values() for p in s.get("ports", ())]

        assert ports
        assert all(port.startswith("127.0.0.1:") for port in ports)

    def test_mounted_files_are_there_and_volumes_are_declared(self):
        declared = compose()["volumes"]
        for name, service in compose()["services"].items():
            for mount in service.get("volumes", ()):
                source = mount.split(":")[0]
                assert source in declared or (INFRA / source).is_file(), f"{name}: {mount}"

    def test_every_address_of_the_configuration_is_a_service(self):
        text = (INFRA / "compose" / "kitelift.toml").read_text(encoding="utf-8")
        config = parse_config(tomllib.loads(text), "compose")
        services = compose()["services"]

        for url in (config.s3.endpoint_url, config.embedding.base_url, config.milvus.uri):
            host, port = re.match(r"http://([\w-]+):(\d+)", url).groups()
            service = services[host]
            told = json.dumps(service) + (INFRA / "Dockerfile").read_text(encoding="utf-8")
            assert port in told, url

    def test_prometheus_scrapes_the_port_that_ray_exports(self):
        services = compose()["services"]
        (config,) = documents(INFRA / "monitoring" / "prometheus.yaml")
        (ray, _) = config["scrape_configs"]
        (nodes,) = ray["dns_sd_configs"]

        assert set(nodes["names"]) == {"ray-head", "ray-worker"}
        for name in nodes["names"]:
            assert f"--metrics-export-port={nodes['port']}" in services[name]["command"]

    def test_the_example_of_the_environment_names_every_variable_that_is_asked_for(self):
        asked = set(re.findall(r"\$\{(\w+)", (INFRA / "compose.yaml").read_text(encoding="utf-8")))
        example = (INFRA / "compose" / ".env.example").read_text(encoding="utf-8")

        assert set(re.findall(r"^(\w+)=", example, re.MULTILINE)) == asked


EXPORTED = {f"ray_{metric.name}": metric for metric in METRICS}


def queries(name: str) -> str:
    return (INFRA / "monitoring" / name).read_text(encoding="utf-8")


def service_is_checked_in(service: dict, dockerfile: str) -> bool:
    target = service.get("build", {}).get("target", "")
    stage = next((s for s in dockerfile.split("\nFROM ") if f" AS {target}\n" in s), "")
    return bool(target) and "HEALTHCHECK" in stage


class TestVariables:
    def test_every_variable_of_ours_is_read_by_the_code(self):
        code = "".join(
            path.read_text(encoding="utf-8")
            for package in ("jobs", "storage")
            for path in (PROJECT / package).glob("*.py")
        )
        names = set(ALL["secret.example.yaml"]["stringData"])
        names |= set(compose()["x-kitelift"]["environment"])

        for name in names - {"RAY_AUTH_MODE"}:
            assert name in code or name.startswith("AWS_"), name

    def test_manifests_take_secrets_from_the_secret_alone(self):
        secret = set(ALL["secret.example.yaml"]["stringData"])
        reference = {"secretRef": {"name": ALL["secret.example.yaml"]["metadata"]["name"]}}

        for template in pod_templates():
            for container in template["spec"]["containers"]:
                assert container["envFrom"] == [reference]
                assert not secret & {variable["name"] for variable in container["env"]}

    def test_no_pod_runs_as_root_or_may_become_it(self):
        for pod in (*(t["spec"] for t in pod_templates()), CRON_POD):
            assert pod["securityContext"]["runAsNonRoot"]
            for container in pod["containers"]:
                assert container["securityContext"]["allowPrivilegeEscalation"] is False
                assert {"requests", "limits"} <= container["resources"].keys()


class TestMonitoring:
    @pytest.mark.parametrize("name", ["kitelift.json", "alerts.yaml"])
    def test_only_metrics_that_are_exported_are_asked_for(self, name):
        asked = set(re.findall(r"\bray_kitelift_\w+", queries(name)))

        assert asked
        assert asked <= EXPORTED.keys()

    def test_the_dashboard_shows_every_metric(self):
        assert set(re.findall(r"\bray_kitelift_\w+", queries("kitelift.json"))) == set(EXPORTED)

    def test_labels_that_are_grouped_by_are_tags_of_the_metric(self):
        panels = json.loads(queries("kitelift.json"))["panels"]
        for expression in (t["expr"] for panel in panels for t in panel["targets"]):
            metric = EXPORTED[re.search(r"ray_kitelift_\w+", expression)[0]]
            labels = re.findall(r"(\w+)=~?\"", expression)
            labels += [
                x for by in re.findall(r"by \(([\w, ]+)\)", expression) for x in by.split(", ")
            ]
            assert set(labels) <= set(metric.tags), expression

    def test_panels_do_not_lie_on_each_other(self):
        taken = set()
        for panel in json.loads(queries("kitelift.json"))["panels"]:
            at = panel["gridPos"]
            cells = {
                (x, y)
                for x in range(at["x"], at["x"] + at["w"])
                for y in range(at["y"], at["y"] + at["h"])
            }
            assert not cells & taken, panel["title"]
            assert at["x"] + at["w"] <= 24
            taken |= cells

    def test_every_alert_is_told_in_the_runbook(self):
        runbook = (INFRA / "README.md").read_text(encoding="utf-8")
        (alerts,) = documents(INFRA / "monitoring" / "alerts.yaml")

        for group in alerts["groups"]:
            for rule in group["rules"]:
                assert f"`{rule['alert']}`" in runbook
