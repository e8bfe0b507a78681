"""kubectl cannot tell the embedded cluster from a real one: the same commands give the same output and exit code on both."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from apis.crd import crd
from apis.kind import kinds
from tests.realserver.access import Access
from tests.support.kubectl import Kubectl, Said
from tests.support.names import fresh

pytestmark = pytest.mark.slow

CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, labels: {app: shop}}\ndata: {colour: before, size: '1'}\n"
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec: {containers: [{name: main, image: shop:1, ports: [{containerPort: 80}]}]}
"""
TENANT = """
apiVersion: copyhold.dev/v1alpha1
kind: Tenant
metadata: {name: "TENANT"}
spec: {owners: [{kind: User, name: alice}]}
"""
FILES = {
    "settings.yaml": CONFIG,
    "settings-changed.yaml": CONFIG.replace("'1'", "'2'"),
    "settings-smaller.yaml": CONFIG.replace(", size: '1'", ""),
    "unknown.yaml": CONFIG.replace("data:", "dta:"),
    "wrong-type.yaml": CONFIG.replace("'1'", "1"),
    "no-kind.yaml": CONFIG.replace("kind: ConfigMap\n", ""),
    "unknown-kind.yaml": CONFIG.replace("kind: ConfigMap", "kind: ConfigMop"),
    "bad-name.yaml": CONFIG.replace("name: settings", "name: Settings_1"),
    "deployment.yaml": DEPLOYMENT,
    "deployment-image.yaml": DEPLOYMENT.replace("shop:1", "shop:2"),
    "deployment-selector.yaml": DEPLOYMENT.replace("app: shop", "app: other"),
    "deployment-without-image.yaml": DEPLOYMENT.replace("image: shop:1, ", ""),
    "tenant.yaml": TENANT,
    "tenant-bad.yaml": TENANT.replace("kind: User", "kind: Robot"),
    "tenant-typo.yaml": TENANT.replace("owners", "ownres"),
}

STORIES: dict[str, list[str]] = {
    "a ConfigMap by hand": [
        "create configmap settings --from-literal=colour=before",
        "get configmap settings",
        "get cm settings -o yaml",
        "get cm settings -o yaml --show-managed-fields",
        "get cm settings -o json",
        "get cm settings -o name",
        "get cm settings -o jsonpath={.data.colour}",
        "get cm settings -o wide --show-labels",
        "create configmap settings --from-literal=colour=before",
        "label cm settings app=shop",
        "label cm settings app=other",
        "label cm settings app=other --overwrite",
        "label cm settings bad/label/key=x",
        "annotate cm settings note=hello",
        "annotate cm settings note-",
        "label cm settings app-",
        'patch cm settings --type=merge -p \'{"data":{"size":"1"}}\'',
        'patch cm settings --type=json -p \'[{"op":"remove","path":"/data/size"}]\'',
        'patch cm settings --type=json -p \'[{"op":"test","path":"/data/colour","value":"red"}]\'',
        'patch cm settings --type=json -p \'[{"op":"remove","path":"/data/absent"}]\'',
        'patch cm settings -p \'{"data":{"size":"3"}}\'',
        'patch cm settings -p \'{"data":{"size":3}}\'',
        "edit cm settings",
        "get cm settings -o jsonpath={.data}",
        "describe cm settings",
        "get cm absent",
        "get cm absent --ignore-not-found",
        "delete cm settings",
        "delete cm settings",
        "delete cm settings --ignore-not-found",
    ],
    "client-side apply": [
        "apply -f settings.yaml --dry-run=server",
        "diff -f settings.yaml",
        "apply -f settings.yaml",
        "apply -f settings.yaml",
        "diff -f settings-changed.yaml",
        "apply -f settings-changed.yaml",
        "apply -f settings-smaller.yaml",
        "get -f settings.yaml -o yaml --show-managed-fields",
        "apply view-last-applied cm settings",
        "apply -f unknown.yaml",
        "apply -f unknown.yaml --validate=false",
        "apply -f wrong-type.yaml",
        "apply -f no-kind.yaml",
        "apply -f unknown-kind.yaml",
        "apply -f bad-name.yaml",
        "apply -f missing.yaml",
        "replace -f settings.yaml",
        "replace -f settings.yaml --force",
        "create -f settings.yaml",
        "apply -f deployment.yaml",
        "apply -f deployment-image.yaml",
        "apply -f deployment-selector.yaml",
        "apply -f deployment-without-image.yaml",
        "delete -f settings.yaml -f deployment.yaml",
        "delete -f settings.yaml",
    ],
    "server-side apply": [
        "apply --server-side -f settings.yaml",
        "apply --server-side -f settings.yaml",
        "apply --server-side -f settings-changed.yaml --field-manager=other",
        "apply --server-side -f settings-changed.yaml --field-manager=other --force-conflicts",
        "get cm settings -o yaml --show-managed-fields",
        "apply --server-side -f unknown.yaml",
        "apply --server-side -f wrong-type.yaml",
        "apply --server-side -f bad-name.yaml",
        "apply --server-side -f settings-smaller.yaml --dry-run=server -o yaml",
        "diff --server-side -f settings-smaller.yaml",
        "apply -f deployment.yaml",
        "apply --server-side -f deployment-image.yaml",
        "get deployment shop -o jsonpath={.spec.template.spec.containers[0].image}",
        "apply --server-side -f deployment-selector.yaml --force-conflicts",
        "apply --server-side -f deployment-without-image.yaml --field-manager=third",
    ],
    "workloads": [
        "create deployment web --image=web:1 --replicas=2",
        "get deployment web",
        "get deployment web -o wide",
        "scale deployment web --replicas=3",
        "scale deployment absent --replicas=3",
        "get deployment web -o jsonpath={.spec.replicas}",
        "set image deployment/web web=web:2",
        "set env deployment/web COLOUR=red",
        "set resources deployment/web --limits=cpu=1000m,memory=1024Mi",
        "get deployment web -o jsonpath={.spec.template.spec.containers[0].resources}",
        "expose deployment web --port=80 --target-port=8080",
        "get service web",
        "get service web -o wide",
        "create service nodeport open --tcp=80:8080",
        "get service",
        "create job once --image=job:1",
        "get job once",
        "create cronjob often --image=job:1 --schedule='*/5 * * * *'",
        "get cronjob often",
        "run pod --image=pod:1",
        "get pod pod",
        "get pod pod -o jsonpath={.spec.containers[0].imagePullPolicy}",
        "create ingress shop --rule=shop.example/*=web:80",
        "get ingress shop",
        "create poddisruptionbudget guard --selector=app=web --min-available=1",
        "get pdb guard",
        "autoscale deployment web --max=5",
        "get all -o name",
        "delete deployment web --cascade=orphan",
        "delete deployment,service,job,cronjob,ingress,pdb --all",
    ],
    "rights": [
        "create serviceaccount robot",
        "get serviceaccounts",
        "create role reader --verb=get,list --resource=configmaps",
        "get role reader",
        "create rolebinding readers --role=reader --serviceaccount={ns}:robot --user=alice",
        "get rolebinding readers -o wide",
        "auth can-i get configmaps --as=alice",
        "auth can-i delete configmaps --as=alice",
        "auth can-i get configmaps --as=system:serviceaccount:{ns}:robot",
        "get configmaps --as=alice",
        "get secrets --as=alice",
        "get configmaps -A --as=alice",
        "create configmap mine --from-literal=a=1 --as=alice",
        "delete role reader --as=alice",
        "auth whoami --as=alice --as-group=developers",
        "auth whoami",
        "create role wider --verb='*' --resource=secrets --as=alice",
        "create clusterrole {name} --verb=get --resource=nodes",
        "get clusterrole {name}",
        "create clusterrolebinding {name} --clusterrole={name} --user=bob",
        "auth can-i get nodes --as=bob",
        "auth can-i --list --as=carol",
        "create token robot",
        "create token absent",
        "delete clusterrole,clusterrolebinding {name}",
    ],
    "secrets, quotas and namespaces": [
        "create secret generic pull --from-literal=key=value",
        "get secret pull",
        "describe secret pull",
        "create secret docker-registry registry --docker-server=r.example --docker-username=u --docker-password=p",
        "get secret registry -o jsonpath={.type}",
        "create quota limits --hard=pods=10,requests.cpu=1000m",
        "get quota limits -o jsonpath={.spec.hard}",
        "create priorityclass {name} --value=10",
        "get priorityclass {name}",
        "delete priorityclass {name}",
        "create namespace {name}",
        "get namespace {name}",
        "get namespace {name} -o jsonpath={.metadata.labels}",
        "create configmap inside --from-literal=a=1 -n {name}",
        "delete namespace {name}",
        "get namespace {name}",
        "create configmap late --from-literal=a=1 -n {name}",
        "create namespace Bad_Name",
    ],
    "lists": [
        "create configmap a --from-literal=n=2",
        "create configmap b --from-literal=n=1",
        "label cm a app=shop",
        "get cm a b -o name",
        "get cm -l app=shop -o name",
        "get cm -l app!=shop -o name",
        "get cm -l 'app in (shop,other)' --no-headers",
        "get cm --field-selector metadata.name=b -o name",
        "get cm --field-selector data.n=1",
        "get cm --sort-by=.data.n -o name",
        "get cm -o custom-columns=NAME:.metadata.name,N:.data.n",
        "get cm --chunk-size=1 -o name",
        "get cm,serviceaccount -o name",
        "get cm -o go-template='{{range .items}}{{.metadata.name}} {{end}}'",
        "get cm --show-kind --show-labels",
        "get cmx",
        "get events",
        "wait --for=jsonpath={.data.n}=2 cm/a --timeout=5s",
        "wait --for=jsonpath={.data.n}=9 cm/a --timeout=1s",
        "wait --for=delete cm/absent --timeout=5s",
        "wait --for=create cm/a --timeout=5s",
        "delete cm a b --wait=true",
        "delete cm -l app=shop",
    ],
    "custom kinds": [
        "api-resources --api-group=copyhold.dev",
        "explain globaltenantresource.spec",
        "explain tenant.spec.namespaceSelector --recursive",
        "explain tenant.nothing",
        "apply -f tenant.yaml",
        "apply -f tenant.yaml",
        "get tenant {name}",
        "get tenant {name} -o yaml",
        "apply -f tenant-bad.yaml",
        "apply --server-side -f tenant-typo.yaml",
        'patch tenant {name} --type=merge -p \'{"spec":{"owners":"me"}}\'',
        'patch tenant {name} -p \'{"spec":{"owners":[]}}\'',
        "label tenant {name} plan=gold",
        "get tenant -l plan=gold -o name",
        "get crd tenants.copyhold.dev -o jsonpath={.status.acceptedNames.kind}",
        "delete tenant {name}",
        "get tenant {name}",
    ],
    "the server itself": [
        "get --raw /healthz",
        "get --raw /readyz",
        "get --raw /api",
        "get --raw /nothing",
        "api-resources --namespaced=false --api-group=rbac.authorization.k8s.io",
        "api-resources --api-group=apps -o wide",
        "cluster-info",
        "get namespaces default kube-system -o name",
        "get service kubernetes -n default -o jsonpath={.spec.ports[0].port}",
    ],
}


def test_at_least_sixty_commands_are_compared() -> None:
    """The comparison is worth its name."""
    assert len({command for story in STORIES.values() for command in story}) >= 60


@pytest.fixture
def both(embedded: Access, realserver: Access, kubectl: Path, tmp_path: Path) -> Callable[[list[str]], list[tuple[Said, Said]]]:
    """Run a story on each server, in a namespace of its own; answers the pairs of what was said."""

    def run(commands: list[str]) -> list[tuple[Said, Said]]:
        return list(zip(*(_story(access, kubectl, tmp_path / place, commands) for place, access in servers), strict=True))

    servers = (("embedded", embedded), ("real", realserver))
    return run


def _story(access: Access, program: Path, folder: Path, commands: list[str]) -> list[Said]:
    folder.mkdir()
    words = {"ns": fresh("kubectl"), "name": fresh("story")}
    for name, text in FILES.items():
        (folder / name).write_text(text.replace("TENANT", words["name"]))
    for index, kind in enumerate(kinds()):
        (folder / f"crd-{index}.json").write_text(json.dumps(crd(kind)))
    admin = Kubectl(program, access.kubeconfig(folder / "admin"), folder, words)
    for command in (
        *(f"apply --server-side --force-conflicts -f crd-{index}.json" for index in range(len(kinds()))),
        "wait --for=condition=Established crd/tenants.copyhold.dev --timeout=30s",
        "create namespace {ns}",
        "wait --for=create serviceaccount/default -n {ns} --timeout=30s",
        "wait --for=create configmap/kube-root-ca.crt -n {ns} --timeout=30s",
    ):
        done = admin.run(command)
        assert done.code == 0, done
    inside = Kubectl(program, access.kubeconfig(folder / "inside", namespace=words["ns"]), folder, words)
    said = [inside.run(command) for command in commands]
    admin.run("delete namespace {ns} --wait=false")
    return said


@pytest.mark.parametrize("story", STORIES)
def test_kubectl_says_the_same_on_both_servers(story: str, both: Callable[[list[str]], list[tuple[Said, Said]]]) -> None:
    """Each command of a story prints the same, to the same stream, with the same exit code."""
    differing = [f"{ours}\n--- the real server:\n{theirs}" for ours, theirs in both(STORIES[story]) if ours != theirs]
    assert not differing, "\n\n".join(differing)
