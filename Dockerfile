# The page, served as an unprivileged user. Tables and projects are in /data:
#   docker build -t shoal . && docker run --rm -p 127.0.0.1:7465:7465 -v "$PWD:/data" shoal
# Then open the address that it prints. The folder must be writable for the user with id 1000;
# otherwise add --user "$(id -u):$(id -g)".
FROM python:3.12-slim

COPY . /opt/shoal
RUN pip install --no-cache-dir -c /opt/shoal/constraints.txt "/opt/shoal[web,analysis]" \
    && rm -rf /opt/shoal \
    && useradd --uid 1000 --create-home steward \
    && mkdir /data && chown steward /data

USER steward
# Compiled kernels are kept in the image, so that the first run starts at once.
ENV HOME=/home/steward
RUN shoal warm --quiet
VOLUME /data
EXPOSE 7465
# Inside a container, the port that is mapped is not that of this machine: -p 127.0.0.1:... decides who may connect.
CMD ["shoal", "web", "--folder", "/data", "--host", "0.0.0.0", "--allow-remote", "--port", "7465", "--no-browser"]
